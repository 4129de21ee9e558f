#include "capture/op_registry.h"

#include <algorithm>

namespace tensortap {

OpRegistry::OpRegistry(std::unique_ptr<const ActivePlan> plan, LayoutWriter& layout, SessionProblems& problems)
    : layout_(layout), problems_(problems), plan_(std::move(plan)) {}

OpId OpRegistry::add(OpInfo info) {
  const std::lock_guard lock(mutex_);
  const bool intended = attribute_is_set(info, kIntendedInfinities);
  const uint64_t overwritten = attribute_slots(info, kOverwrites);
  info.id = tree_.add(info);
  const OpId id = table_.add(std::move(info));
  if (id == kNoOp) return id;
  OpEntry& entry = *table_.find(id);
  entry.intended_infinities = intended;
  entry.overwritten = overwritten;
  problems_.note_error(layout_.add_op(id, entry.info));
  return id;
}

OpId OpRegistry::add_look(OpInfo info) {
  info.id = tree_.add(info);
  const OpId id = table_.add(std::move(info));
  if (id == kNoOp) return id;
  OpEntry& entry = *table_.find(id);
  entry.is_look = true;
  problems_.note_error(layout_.add_op(id, entry.info));
  OpDecision decision;
  decision.wanted = decision.outputs = true;
  decide_locked(id, std::move(decision));
  return id;
}

void OpRegistry::decide_locked(OpId id, OpDecision decision) {
  layout_.op_decided(id, decision);
  table_.decide(*table_.find(id), std::move(decision));
}

const OpDecision* OpRegistry::decide_now(OpId id, OpEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (entry.decision.load(std::memory_order_acquire) == nullptr) decide_locked(id, plan_->plan->decide(entry.info));
  return entry.decision.load(std::memory_order_acquire);
}

Result<std::vector<OpInfo>> OpRegistry::bind() {
  const std::lock_guard lock(mutex_);
  std::vector<OpInfo> infos;
  infos.reserve(table_.size());
  for (OpId id = 0; id < table_.size(); ++id) infos.push_back(table_.find(id)->info);
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<OpDecision> decisions, plan_->plan->bind(infos));
  matches_ = explain_match(infos, decisions);
  for (OpId id = 0; id < decisions.size() && id < table_.size(); ++id) decide_locked(id, std::move(decisions[id]));
  return infos;
}

void OpRegistry::decide_rest() {
  const std::lock_guard lock(mutex_);
  for (OpId id = 0; id < table_.size(); ++id) {
    OpEntry& entry = *table_.find(id);
    if (!entry.is_look && entry.decision.load(std::memory_order_acquire) == nullptr) table_.decide(entry, plan_->plan->decide(entry.info));
  }
}

void OpRegistry::request(OpId op, bool enabled) noexcept {
  if (!plan_->on_request) {
    requested_in_vain_.store(true, std::memory_order_relaxed);
    return;
  }
  OpEntry* entry = table_.find(op);
  if (entry == nullptr) return;
  entry->requested.store(enabled, std::memory_order_relaxed);
  if (enabled) entry->mark(kOpRequested);
}

void OpRegistry::not_captured(OpId op, std::string_view reason) {
  OpEntry* entry = table_.find(op);
  if (entry == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(entry->reasons, reason) == entry->reasons.end()) entry->reasons.emplace_back(reason);
}

Json OpRegistry::explain_plan() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences = explain(plan_->spec);
  sentences.insert(sentences.end(), matches_.begin(), matches_.end());
  const auto notes = plan_->plan->notes();
  Json json = {{"plan", std::move(sentences)}, {"notes", std::vector<std::string>(notes.begin(), notes.end())}};
  if (requested_in_vain_.load(std::memory_order_relaxed)) {
    json["notes"].push_back(
        "the program calls set_dump(), which had no effect: it chooses what is captured only with \"dump_mode\": 2 of a MindSpore config, "
        "or with \"trigger\": \"on-request\"");
  }
  json["unmatched"] = plan_->plan->unmatched();
  return json;
}

}  // namespace tensortap
