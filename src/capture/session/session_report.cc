#include "session/session_report.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/coverage_reasons.h"
#include "base/job_rank.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/process_role.h"
#include "base/text.h"
#include "plan/spec_keys.h"
#include "stats/stats_target.h"

namespace tensortap {
namespace {

constexpr size_t kExamples = 5;

// The way that was taken: where the kernel was of no use, operators measured; where they were of no use, the device gave copies.
std::string_view device_way(DeviceStats asked, const Json& device) {
  DeviceStats way = asked;
  if (way == DeviceStats::kKernel && device["kernels"] == 0) way = DeviceStats::kOperators;
  if (way == DeviceStats::kOperators && device["measured"] == 0) way = DeviceStats::kHost;
  return kDeviceStatsWords[static_cast<size_t>(way)];
}

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
  uint64_t in_part = 0;  // of the captured ones
  uint64_t not_wanted = 0;
  Reasons not_captured;
  Reasons partly;

  [[nodiscard]] Json to_json() const {
    return {{"registered", registered},  {"expected", expected},     {"captured", captured},
            {"in_part", in_part},        {"not_wanted", not_wanted}, {"not_captured", not_captured.to_json()},
            {"partly", partly.to_json()}};
  }
};

// Why an op has no event at all. Sources do not report ops of a step that is not captured.
std::string reason_of_silence(uint64_t steps_seen, uint64_t steps_captured) {
  if (steps_seen > 0 && steps_captured == 0) return std::string(kReasonNoStep);
  return std::string(steps_seen > steps_captured ? kReasonNoCapturedStep : kReasonNeverRan);
}

std::string reason_of(const OpEntry& op, bool on_request, const std::string& silence) {
  if (!op.reasons.empty()) return op.reasons.front();
  if (on_request && !op.has(kOpRequested)) return std::string(kReasonNeverRequested);
  if (op.has(kOpFailed)) return std::string(kReasonFailed);
  if (op.has(kOpDescriptionOnly)) return "description only: no data in host memory";
  if (op.has(kOpLost)) return "lost (see losses)";
  if (op.has(kOpLeftOut)) return "left out by the governor";
  if (op.has(kOpNoTensor)) return std::string(kReasonNoTensor);
  if (op.has(kOpOutsideSteps)) return std::string(kReasonOtherSteps);
  if (op.has(kOpRan)) return "its outputs were never reported";
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
  if (op.has(kOpDescriptionOnly)) ++counted.in_part;
  for (const std::string& reason : op.reasons) counted.partly.add(reason, op.info.name);
  if (op.has(kOpLost)) counted.partly.add(std::string(kReasonRecordLost), op.info.name);
}

// The name of a layer that ran in msit's tree: "7_Decoder_layer (Net.layers.2)".
std::string layer_text(const OpInfo& layer) {
  return concat(layer.id, "_", layer.type, layer.module.empty() ? "" : concat(" (", layer.module, ")"));
}

}  // namespace

Json SessionReport::Origin::process() const { return process_json(facts.text(kProcessNameFact), command); }

void SessionReport::add_coverage(Json& json) const {
  Counted ops;
  Counted inputs;
  Counted weights;
  const StepGate& steps = parts_.admission.steps();
  const std::string silence = reason_of_silence(steps.steps_seen(), steps.steps_captured());
  const ActivePlan& plan = parts_.ops.plan();
  parts_.ops.for_each([&](const OpEntry& entry) {
    if (entry.is_look) return;
    // Before the end an op that is not decided counts as wanted: bind() may still come.
    const OpDecision* decision = entry.decisions[parts_.ops.newest()].load(std::memory_order_acquire);
    // Ops that an earlier plan captured were wanted.
    const bool earlier = plan.generation > 0 && entry.has(kOpCaptured);
    const bool wanted = !plan.failed_only && (decision == nullptr || decision->wanted || earlier);
    Counted& counted = entry.info.type == kInputType ? inputs : entry.info.type == kInitializerType ? weights : ops;
    count(entry, wanted, plan.on_request, silence, counted);
  });
  json["ops"] = ops.to_json();
  json["graph_inputs"] = inputs.to_json();
  json["weights"] = weights.to_json();
}

void SessionReport::add_steps(Json& json, bool ended) const {
  if (std::string problem = parts_.step_modules.problem(); ended && !problem.empty()) json["unmatched"].push_back(std::move(problem));
  const StepGate& steps = parts_.admission.steps();
  const uint64_t seen = steps.steps_seen();
  if (parts_.ops.plan().spec.idle) {
    json["notes"].push_back("the capture was off when it ended: `tensortap set` turns it on (docs/live_control.md)");
  } else if (seen > 0 && steps.steps_captured() == 0) {
    json["notes"].push_back(concat("no step that was asked for was reached: the program made ", seen, seen == 1 ? " step" : " steps",
                                   ", asked for: ", parts_.ops.plan().spec.steps.to_text()));
  }
}

// Users of msit look for the last layer by its number; what runs outside of every module has higher ones.
void SessionReport::add_layers(Json& json) const {
  constexpr std::string_view kLayer = "_layer";
  std::map<std::string, std::pair<int64_t, std::string>> last;  // by phase
  parts_.ops.for_each([&](const OpEntry& entry) {
    int64_t number = 0;
    if (!entry.info.type.ends_with(kLayer) || !parse_integer(entry.info.id, number)) return;
    auto& [highest, text] = last[entry.info.type];
    if (!text.empty() && number < highest) return;
    text = layer_text(entry.info);
    highest = number;
  });
  std::vector<std::string> texts;
  for (const auto& [phase, layer] : last) texts.push_back(layer.second);
  if (!texts.empty()) json["notes"].push_back(concat("the last layer of each phase: ", join(texts, ", "), "; -ids takes the number"));
}

void SessionReport::add_channels(Json& json) const {
  const auto axis = parts_.ops.plan().spec.sketch_axis;
  if (!axis || !parts_.look.found_no_channels()) return;
  json["notes"].push_back(concat("no tensor has an axis ", *axis, ", so there are no sums of channels; --channels -1 is the last axis"));
}

void SessionReport::add_triggers(Json& json) const {
  const CaptureSpec& spec = parts_.ops.plan().spec;
  json["trigger"] = parts_.overflow != nullptr ? parts_.overflow->report() : Json(nullptr);
  if (parts_.watch != nullptr && parts_.watch->on_devices() > 0) {
    json["notes"].push_back(
        concat(parts_.watch->on_devices(), " tensors on devices were not watched: the trigger \"watch\" looks at host memory alone"));
  }
  const bool is_late = spec.device_stats != DeviceStats::kWait && spec.device_stats != DeviceStats::kOff;
  const bool decides_now = spec.trigger != Trigger::kAlways && (spec.trigger != Trigger::kOnRequest || parts_.last_ops.has_ring());
  if (is_late && decides_now && !parts_.look.devices().is_unused()) {
    json["notes"].push_back("the trigger needs the values of tensors on devices at once: the program waited for them");
  }
  json["watch"] = parts_.watch != nullptr ? parts_.watch->report() : Json(nullptr);
  json["ring"] = parts_.last_ops.report();
}

Json SessionReport::to_json(bool ended) const {
  const CaptureSpec& spec = parts_.ops.plan().spec;
  const Origin& origin = parts_.origin;
  Json json = {{"tensortap", TENSORTAP_VERSION}, {"layout", spec.layout}, {"dump", origin.folder}};
  json["complete"] = ended;
  json["program"] = text_or_null(origin.program);
  json["exec"] = text_or_null(exec_name());
  json["process"] = origin.process();
  json["source"] = text_or_null(origin.source);
  json["runtime"] = origin.facts.to_json();
  json["rank"] = origin.rank;
  json["world_size"] = std::max(origin.world_size, 1);
  json["started"] = origin.started;
  json["ended"] = ended ? Json(wall_clock_iso()) : Json(nullptr);
  json["seconds"] = json_number(static_cast<double>(monotonic_ns() - origin.opened_ns) / 1e9);
  json["statistics_kernel"] = stats_target();
  json["checksum"] = spec.digest;
  Json plan = parts_.ops.explain_plan();
  json["plan"] = std::move(plan["plan"]);
  add_coverage(json);
  json["notes"] = std::move(plan["notes"]);
  for (std::string& note : parts_.problems.notes()) json["notes"].push_back(std::move(note));
  add_channels(json);
  if (ended && spec.layout == "msit") add_layers(json);
  json["unmatched"] = std::move(plan["unmatched"]);
  json["other_models"] = std::move(plan["other_models"]);
  add_steps(json, ended);
  const StepGate& steps = parts_.admission.steps();
  json["steps"] = {{"seen", steps.steps_seen()}, {"captured", steps.steps_captured()}};
  json["records"] = parts_.sink.writer().records();
  json["bytes"] = parts_.sink.writer().bytes();
  json["not_looked_at"] = parts_.look.not_looked_at();
  json["devices"] = parts_.look.devices().report();
  for (Json& device : json["devices"]) device["way"] = device_way(spec.device_stats, device);
  json[kLeftOutByCondition] = parts_.look.filtered();
  add_triggers(json);
  json["lost"] = parts_.sink.writer().losses().total();
  json["losses"] = parts_.sink.writer().losses().to_json();
  uint64_t left_out = 0;
  parts_.ops.for_each([&left_out](const OpEntry& op) { left_out += op.has(kOpLeftOut) ? 1 : 0; });
  json["governor"] = parts_.admission.governor().report(left_out);
  json["repeated"] = parts_.contents.report();
  json["content_mismatch"] = parts_.contents.mismatches();
  json["pool_peak_bytes"] = parts_.pool.peak();
  json["first_nonfinite"] = parts_.look.first_nonfinite().to_json(parts_.ops.table());
  json["not_counted"] = parts_.look.not_counted();
  json["to_judge"] = parts_.look.has_news();
  json.update(parts_.failed.report());
  json["first_error"] = text_or_null(parts_.problems.first_error().message());
  json["changes"] = parts_.changes.to_json();
  json["problems"] = parts_.problems.sentences();
  json["config"] = spec_to_json(spec);
  return json;
}

}  // namespace tensortap
