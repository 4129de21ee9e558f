#include "source/onnxruntime/run/run_summary.h"

#include <utility>

#include "base/coverage_reasons.h"
#include "base/json.h"

namespace tensortap::onnxruntime {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json overhead_details(const Overhead& overhead) {
  Json details = {{"ratio", overhead.ratio},       {"low", overhead.low},
                  {"high", overhead.high},         {"plain_ms", overhead.plain_ms},
                  {"quartets", overhead.quartets}, {"method", "plain, captured, captured, plain; median of ratios, quartiles"}};
  if (overhead.of_means) {
    details["method"] = "plain, captured, captured, plain; ratio of the mean times of a run, quartiles of the quartets";
    details["runs"] = overhead.captured_runs;
    details["reported"] = or_null(overhead.reported);
  }
  return details;
}

}  // namespace

Json make_summary(Json session_report, const SummaryFacts& facts) {
  Json summary = Json::object();
  const auto take = [&](const char* key) {
    const auto found = session_report.find(key);
    summary[key] = found == session_report.end() ? Json() : std::move(*found);
    if (found != session_report.end()) session_report.erase(key);
  };
  take("dump");
  take("layout");
  summary["source"] = facts.source;
  summary["steps"] = facts.steps;
  take("ops");
  take("records");
  take("bytes");
  take("lost");
  summary["identical"] = or_null(facts.identical);
  summary["overhead"] = facts.overhead ? Json(facts.overhead->ratio) : Json();
  take("first_nonfinite");
  summary["executed_nodes_equal"] = or_null(facts.kernels_equal);
  summary["overhead_details"] = facts.overhead ? overhead_details(*facts.overhead) : Json();
  summary["inputs"] = facts.inputs;
  summary["tap_kind"] = facts.tap_kind;
  for (const char* key : {"to_judge", "not_counted", "graph_inputs", "weights", kLeftOutByCondition, "trigger", "losses", "governor",
                          "unmatched", "statistics_kernel", "problems"}) {
    if (session_report.contains(key)) take(key);
  }
  Json notes = session_report.contains("notes") && session_report["notes"].is_array() ? session_report["notes"] : Json::array();
  for (const std::string& note : facts.notes) notes.push_back(note);
  summary["notes"] = std::move(notes);
  return summary;
}

}  // namespace tensortap::onnxruntime
