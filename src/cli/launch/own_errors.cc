#include "cli/launch/own_errors.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/launch/replay_runtime.h"
#include "replay/replay_json.h"

namespace tensortap::cli {

Result<OwnErrors> OwnErrors::measure(const DumpIndex& a, const DumpIndex& b, const std::string& runtime, const Terminal& terminal) {
  const RuntimeOfDump recorded = runtime_of(a);
  const RuntimeOfDump other = runtime_of(b);
  if (!is_of_onnxruntime(recorded) || !is_of_onnxruntime(other)) {
    return io_error("--replay needs two dumps of ONNX Runtime: only its ops can be run again");
  }
  TENSORTAP_ASSIGN_OR_RETURN(const auto opened,
                             open_replay_runtime({runtime, {}, recorded.threads, recorded.optimization}, other, terminal));
  Progress progress(terminal);
  ReplayOptions options;
  options.progress = [&progress](size_t done, size_t all) { progress.update("replaying", done, all); };
  OwnErrors errors;
  ReplaySummary summary(a);
  const std::vector<RecordedOp> ops = find_recorded_ops(a, {});
  replay_ops(a, ops, *opened, options, [&](const ReplayedValue& value) {
    summary.add(value);
    if (!value.row) return;
    Own own{.outcome = value.outcome, .reason = value.reason};
    if (value.difference) {
      own.relative_l2 = value.difference->relative_l2;
      own.max_abs = value.difference->max_abs;
      own.max_ulp = value.difference->max_ulp;
    }
    errors.by_row_[*value.row] = std::move(own);
  });
  progress.finish();
  if (summary.replayed() == 0) return io_error("no op of A could be run again: both dumps need --full --slots in,out");
  Json json = summary.to_json();
  json["runtime"] = opened->source();
  json["recorded"] = recorded.source;
  errors.summary_ = to_json_text(json);
  return errors;
}

Json OwnErrors::json_of(uint32_t row_a) const {
  const auto found = by_row_.find(row_a);
  if (found == by_row_.end()) return nullptr;
  const Own& own = found->second;
  if (own.outcome == ReplayOutcome::kNotReplayed) return {{"outcome", outcome_name(own.outcome)}, {"reason", own.reason}};
  return {{"outcome", outcome_name(own.outcome)},
          {"relative_l2", json_number(own.relative_l2)},
          {"max_abs", json_number(own.max_abs)},
          {"max_ulp", own.max_ulp},
          {"reason", own.reason.empty() ? Json(nullptr) : Json(own.reason)}};
}

std::optional<double> OwnErrors::error_of(uint32_t row_a) const {
  const auto found = by_row_.find(row_a);
  if (found == by_row_.end() || found->second.outcome == ReplayOutcome::kNotReplayed) return std::nullopt;
  return found->second.relative_l2;
}

std::string OwnErrors::csv_cells(uint32_t row_a) const {
  const auto found = by_row_.find(row_a);
  if (found == by_row_.end()) return ",,,";
  const Own& own = found->second;
  if (own.outcome == ReplayOutcome::kNotReplayed) return fmt::format(",{},,", outcome_name(own.outcome));
  return fmt::format(",{},{},{}", outcome_name(own.outcome), own.relative_l2, own.max_abs);
}

std::string OwnErrors::csv_titles() { return ",own,own_relative_l2,own_max_abs"; }

Json OwnErrors::summary() const { return Json::parse(summary_); }

}  // namespace tensortap::cli
