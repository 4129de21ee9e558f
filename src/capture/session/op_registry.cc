#include "session/op_registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

#include "base/json.h"

namespace tensortap {

OpRegistry::OpRegistry(std::unique_ptr<const ActivePlan> plan, LayoutWriter& layout, SessionProblems& problems)
    : layout_(layout), decisions_(layout.parts().decisions), problems_(problems) {
  plans_[0] = plan.get();
  owned_.push_back(std::move(plan));
}

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
  decide_locked(id, newest(), std::move(decision));
  return id;
}

void OpRegistry::decide_locked(OpId id, uint8_t generation, OpDecision decision) {
  if (decisions_ != nullptr) decisions_->op_decided(id, decision);
  table_.decide(*table_.find(id), generation, std::move(decision));
}

const OpDecision* OpRegistry::decide_now(OpId id, OpEntry& entry, uint8_t generation) {
  const std::lock_guard lock(mutex_);
  const std::atomic<const OpDecision*>& decision = entry.decisions[generation];
  if (decision.load(std::memory_order_acquire) == nullptr) decide_locked(id, generation, plan(generation).plan->decide(entry.info));
  return decision.load(std::memory_order_acquire);
}

bool OpRegistry::wants(OpId id, OpEntry& entry) {
  const auto wanted = [](const OpDecision* decision) { return decision != nullptr && (decision->wanted || decision->watcher); };
  const uint8_t generation = newest();
  return wanted(decision_of(id, entry, generation)) || wanted(entry.decisions[generation ^ 1U].load(std::memory_order_acquire));
}

std::vector<OpInfo> OpRegistry::infos_locked() const {
  std::vector<OpInfo> infos;
  infos.reserve(table_.size());
  for (OpId id = 0; id < table_.size(); ++id) infos.push_back(table_.find(id)->info);
  return infos;
}

Result<std::vector<OpInfo>> OpRegistry::bind() {
  const std::lock_guard lock(mutex_);
  std::vector<OpInfo> infos = infos_locked();
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<OpDecision> decisions, plan().plan->bind(infos));
  matches_ = explain_match(infos, decisions);
  for (OpId id = 0; id < decisions.size() && id < table_.size(); ++id) decide_locked(id, newest(), std::move(decisions[id]));
  bound_ = true;
  return infos;
}

Status OpRegistry::replace(std::unique_ptr<const ActivePlan> plan, StepGate& gate) {
  const std::lock_guard lock(mutex_);
  Waiting next{plan.get(), {}};
  const std::vector<OpInfo> infos = infos_locked();
  if (bound_) {
    TENSORTAP_ASSIGN_OR_RETURN(next.decisions, plan->plan->bind(infos));
    matches_ = explain_match(infos, next.decisions);
  } else {
    for (const OpInfo& info : infos) next.decisions.push_back(plan->plan->decide(info));
  }
  // A plan that still waits was never used, but the list of plans is short.
  owned_.push_back(std::move(plan));
  waiting_ = std::move(next);
  apply_locked(gate);
  return {};
}

void OpRegistry::apply_waiting(StepGate& gate) {
  const std::lock_guard lock(mutex_);
  if (waiting_.plan != nullptr) apply_locked(gate);
}

void OpRegistry::apply_locked(StepGate& gate) {
  const std::optional<uint8_t> free = gate.withdraw();
  has_waiting_.store(!free.has_value(), std::memory_order_relaxed);
  if (!free.has_value()) return;
  const Waiting next = std::exchange(waiting_, {});
  plans_[*free].store(next.plan, std::memory_order_release);
  for (OpId id = 0; id < table_.size(); ++id) {
    OpEntry& entry = *table_.find(id);
    if (id < next.decisions.size()) {
      decide_locked(id, *free, next.decisions[id]);
    } else {
      entry.decisions[*free].store(nullptr, std::memory_order_release);
    }
  }
  newest_.store(*free, std::memory_order_release);
  gate.offer(next.plan->steps);
}

void OpRegistry::decide_rest() {
  const std::lock_guard lock(mutex_);
  for (OpId id = 0; id < table_.size(); ++id) {
    OpEntry& entry = *table_.find(id);
    if (entry.is_look || entry.decisions[newest()].load(std::memory_order_acquire) != nullptr) continue;
    table_.decide(entry, newest(), plan().plan->decide(entry.info));
  }
}

void OpRegistry::request_inputs_locked(const OpInfo& op, bool enabled) {
  for (const OpInput& input : op.inputs) {
    OpEntry* producer = table_.find(input.producer);
    if (producer == nullptr) continue;
    const uint64_t bit = OpEntry::output_bit(input.producer_slot);
    uint32_t& reads = requested_reads_[{input.producer, bit}];
    reads += enabled ? 1 : -1;
    if (reads == 0) producer->requested_outputs.fetch_and(~bit, std::memory_order_relaxed);
    if (reads > 0) producer->requested_outputs.fetch_or(bit, std::memory_order_relaxed);
  }
}

void OpRegistry::request(OpId op, bool enabled, bool with_producers) {
  if (!plan().on_request) {
    requested_in_vain_.store(true, std::memory_order_relaxed);
    return;
  }
  OpEntry* entry = table_.find(op);
  if (entry == nullptr) return;
  if (enabled) entry->mark(kOpRequested);
  if (!with_producers) return entry->requested.store(enabled, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const bool changed = entry->requested.exchange(enabled, std::memory_order_relaxed) != enabled;
  if (changed) request_inputs_locked(entry->info, enabled);
}

void OpRegistry::not_captured(OpId op, std::string_view reason) {
  OpEntry* entry = table_.find(op);
  if (entry == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(entry->reasons, reason) == entry->reasons.end()) entry->reasons.emplace_back(reason);
}

std::vector<std::string> OpRegistry::unmatched() const {
  const std::lock_guard lock(mutex_);
  return plan().plan->unmatched();
}

Json OpRegistry::explain_plan() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences = explain(plan().spec);
  sentences.insert(sentences.end(), matches_.begin(), matches_.end());
  const auto notes = plan().plan->notes();
  Json json = {{"plan", std::move(sentences)}, {"notes", std::vector<std::string>(notes.begin(), notes.end())}};
  if (requested_in_vain_.load(std::memory_order_relaxed)) {
    json["notes"].push_back(
        "the program calls set_dump(), which had no effect: it chooses what is captured only with \"dump_mode\": 2 of a MindSpore config, "
        "or with \"trigger\": \"on-request\"");
  }
  if (plan().generation > 0)
    json["notes"].push_back(concat("the plan was replaced while the program ran; this one is number ", plan().generation));
  json["unmatched"] = plan().plan->unmatched();
  json["other_models"] = Json::array();
  for (const OtherModel& other : plan().plan->other_models()) json["other_models"].push_back(other_model_json(other));
  return json;
}

}  // namespace tensortap
