// The summary of a run: what `tensortap run --json` prints.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_SUMMARY_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "source/onnxruntime/run/overhead.h"

namespace tensortap::onnxruntime {

// What the source knows; the rest comes from the session's report.
struct SummaryFacts {
  std::string source;
  int64_t steps = 0;
  std::optional<bool> identical;
  std::optional<bool> kernels_equal;
  std::optional<Overhead> overhead;
  Json inputs = Json::array();
  std::string tap_kind;
  std::vector<std::string> notes;
};

// The keys of docs/command_line.md in their order, null where not measured, then the source's own and what else the report holds.
Json make_summary(Json session_report, const SummaryFacts& facts);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUN_SUMMARY_H_
