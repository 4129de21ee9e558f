// run.json: what was asked, what was captured, what was not and why. Keys: docs/layouts/tap.md.

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/exec_request.h"
#include "base/text.h"
#include "capture/capture_session.h"

#ifndef TENSORTAP_VERSION
#define TENSORTAP_VERSION "0.1.0"
#endif

namespace tensortap {
namespace {

constexpr size_t kExamples = 5;

// Ops by reason, with the first names.
class Reasons {
 public:
  void add(const std::string& reason, const std::string& name) {
    Entry& entry = entries_[reason];
    ++entry.count;
    if (entry.examples.size() < kExamples) entry.examples.push_back(name);
  }
  [[nodiscard]] Json to_json() const {
    std::vector<std::pair<std::string, const Entry*>> sorted;
    for (const auto& [reason, entry] : entries_) sorted.emplace_back(reason, &entry);
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
    Json list = Json::array();
    for (const auto& [reason, entry] : sorted) list.push_back({{"reason", reason}, {"count", entry->count}, {"examples", entry->examples}});
    return list;
  }

 private:
  struct Entry {
    uint64_t count = 0;
    std::vector<std::string> examples;
  };
  std::map<std::string, Entry> entries_;
};

// Ops, graph inputs and weights are counted apart: only the first are executed.
struct Counted {
  uint64_t registered = 0;
  uint64_t expected = 0;
  uint64_t captured = 0;
  uint64_t not_wanted = 0;
  Reasons not_captured;
  Reasons partly;

  [[nodiscard]] Json to_json() const {
    return {{"registered", registered},
            {"expected", expected},
            {"captured", captured},
            {"not_wanted", not_wanted},
            {"not_captured", not_captured.to_json()},
            {"partly", partly.to_json()}};
  }
};

// Why an op has no event at all. Sources leave out what runs in a step that is not captured.
std::string reason_of_silence(uint64_t steps_seen, uint64_t steps_captured) {
  if (steps_seen > 0 && steps_captured == 0) return "not run in any step that was asked for";
  return steps_seen > steps_captured ? "not run in any captured step" : "never ran";
}

std::string reason_of(const OpEntry& op, bool on_request, const std::string& silence) {
  if (!op.reasons.empty()) return op.reasons.front();
  if (on_request && !op.has(kOpRequested)) return "never requested";
  if (op.has(kOpFailed)) return "failed";
  if (op.has(kOpDescriptionOnly)) return "description only: no data in host memory";
  if (op.has(kOpLost)) return "lost (see losses)";
  if (op.has(kOpLeftOut)) return "left out by the governor";
  if (op.has(kOpNoTensor)) return "ran without a tensor that was asked for";
  if (op.has(kOpOutsideSteps)) return "ran only in steps that were not captured";
  if (op.has(kOpRan)) return "what it made was never told";
  return silence;
}

void count(const OpEntry& op, bool wanted, bool on_request, const std::string& silence, Counted& counted) {
  ++counted.registered;
  if (!wanted) {
    ++counted.not_wanted;
    return;
  }
  ++counted.expected;
  if (!op.has(kOpCaptured)) {
    counted.not_captured.add(reason_of(op, on_request, silence), op.info.name);
    return;
  }
  ++counted.captured;
  for (const std::string& reason : op.reasons) counted.partly.add(reason, op.info.name);
  if (op.has(kOpLost)) counted.partly.add("a record was lost (see losses)", op.info.name);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json CaptureSession::coverage(bool ended) {
  Counted ops;
  Counted inputs;
  Counted weights;
  const std::string silence = reason_of_silence(steps_.steps_seen(), steps_.steps_captured());
  const std::lock_guard lock(registration_);
  for (OpId id = 0; id < ops_.size(); ++id) {
    OpEntry& entry = *ops_.find(id);
    if (entry.is_look) continue;
    // Before the end an op that is not decided counts as wanted: bind() may still come.
    if (ended && entry.decision.load(std::memory_order_acquire) == nullptr) ops_.decide(entry, plan_->decide(entry.info));
    const OpDecision* decision = entry.decision.load(std::memory_order_acquire);
    const bool wanted = !failed_only_ && (decision == nullptr || decision->wanted);
    Counted& counted = entry.info.type == kInputType ? inputs : entry.info.type == kInitializerType ? weights : ops;
    count(entry, wanted, on_request_, silence, counted);
  }
  return {{"ops", ops.to_json()}, {"graph_inputs", inputs.to_json()}, {"weights", weights.to_json()}};
}

Json CaptureSession::manifest(bool ended) {
  const CaptureSpec& spec = options_.spec;
  Json json = {{"tensortap", TENSORTAP_VERSION}, {"layout", spec.layout}, {"dump", folder_.path()}};
  json["complete"] = ended;
  json["program"] = text_or_null(options_.program);
  json["exec"] = text_or_null(exec_name());
  json["source"] = text_or_null(options_.source);
  json["rank"] = options_.rank;
  json["world_size"] = std::max(options_.world_size, 1);
  json["started"] = started_;
  json["ended"] = ended ? Json(wall_clock_iso()) : Json(nullptr);
  json["seconds"] = json_number(static_cast<double>(monotonic_ns() - opened_ns_) / 1e9);
  json["statistics_kernel"] = stats_target();
  json["checksum"] = spec.digest;
  std::vector<std::string> plan = explain(spec);
  plan.insert(plan.end(), matches_.begin(), matches_.end());
  json["plan"] = std::move(plan);
  Json covered = coverage(ended);
  json.update(covered);
  {
    const std::lock_guard lock(registration_);
    const auto notes = plan_->notes();
    json["notes"] = std::vector<std::string>(notes.begin(), notes.end());
    if (requested_in_vain_.load(std::memory_order_relaxed)) {
      json["notes"].push_back(
          "the program calls set_dump(), which had no effect: it chooses what is captured only with \"dump_mode\": 2 of a MindSpore "
          "config, or with "
          "\"trigger\": \"on-request\"");
    }
    if (steps_.steps_seen() > 0 && steps_.steps_captured() == 0) {
      json["notes"].push_back(concat("no step that was asked for was reached: the program made ", steps_.steps_seen(),
                                     steps_.steps_seen() == 1 ? " step" : " steps", ", asked for: ", spec.steps.to_text()));
    }
    json["unmatched"] = plan_->unmatched();
  }
  json["steps"] = {{"seen", steps_.steps_seen()}, {"captured", steps_.steps_captured()}};
  json["records"] = records_.load();
  json["bytes"] = bytes_.load();
  json["records_left_out_by_condition"] = filtered_.load();
  json["trigger"] = gate_.has_value() ? Json{{"fired", gate_->fired()}, {"over_limit", gate_->over_limit()}} : Json(nullptr);
  json["watch"] = watch_.has_value() ? watch_->report() : Json(nullptr);
  if (watch_.has_value()) json["watch"]["still_read"] = still_read();
  json["ring"] = ring_.has_value() ? ring_->report() : Json(nullptr);
  json["lost"] = losses_.total();
  json["losses"] = losses_.to_json();
  uint64_t left_out = 0;
  for (OpId id = 0; id < ops_.size(); ++id) left_out += ops_.find(id)->has(kOpLeftOut) ? 1 : 0;
  json["governor"] = governor_.report(left_out);
  json["repeated"] = contents_.report();
  json["content_mismatch"] = contents_.mismatches();
  json["pool_peak_bytes"] = pool_.peak();
  json["first_nonfinite"] = first_nonfinite_.to_json(ops_);
  {
    const std::lock_guard lock(error_mutex_);
    Json failed = Json::array();
    for (const FailedOp& op : failed_ops_) {
      failed.push_back({{"name", op.name}, {"type", op.type}, {"error", op.error}, {"step", op.step}, {"inputs", op.inputs}});
      failed.back()["source"] = op.source.empty() ? Json(nullptr) : Json(op.source);
      failed.back()["module"] = op.module.empty() ? Json(nullptr) : Json(op.module);
      failed.back().update(op.details);
    }
    json["failed_op"] = failed.empty() ? Json(nullptr) : failed.front();
    json["failed_ops"] = failed_count_;
    json["first_error"] = text_or_null(first_error_.message());
    json["problems"] = problems_;
  }
  json["config"] = spec_to_json(spec);
  return json;
}

std::string CaptureSession::report() {
  if ((off_.load() & kFromStart) != 0) return to_json_text(Json{{"disabled", why_disabled_}});
  if ((off_.load() & (kForked | kClosed)) != 0) return R"({"disabled": "the session ended or this is a forked child"})";
  // A failure to flush stands among the report's problems.
  [[maybe_unused]] const Status flushed = flush();
  return to_json_text(manifest(false));
}

}  // namespace tensortap
