#include "serve/dump_answers.h"

#include <algorithm>
#include <string>

#include "base/json_members.h"

namespace tensortap {
namespace {

constexpr size_t kMostProblems = 100;

Json losses_json(const Json& manifest) {
  Json list = Json::array();
  const Json* losses = member(manifest, "losses");
  if (losses == nullptr || !losses->is_array()) return list;
  for (const Json& loss : *losses) list.push_back({{"reason", text_in(loss, "reason")}, {"count", count_in(loss, "count")}});
  return list;
}

Json coverage_json(const Json& manifest) {
  const Json* ops = member(manifest, "ops");
  if (ops == nullptr || !ops->is_object()) return nullptr;
  return {{"ops", *ops}, {"graph_inputs", member_or_null(manifest, "graph_inputs")}, {"weights", member_or_null(manifest, "weights")}};
}

Json overhead_json(const Json& manifest) {
  const Json* governor = member(manifest, "governor");
  return governor == nullptr ? Json(nullptr) : member_or_null(*governor, "measured_overhead");
}

}  // namespace

Json dump_info_json(const ServedDump& dump, bool is_complete) {
  const Json& manifest = dump.manifest();
  const ServedDump::RowCounts& counts = dump.counts();
  const auto problems = dump.index().problems();
  Json json;
  json["name"] = dump.path();
  json["layout"] = dump.index().layout();
  json["records"] = dump.rows().size();
  json["ops"] = dump.index().ops().size();
  json["steps"] = counts.steps;
  json["ranks"] = counts.ranks;
  json["phases"] = Json::array();
  for (const uint8_t phase : counts.phases) json["phases"].push_back(phase_name(static_cast<Phase>(phase)));
  json["has_data"] = counts.has_data;
  json["bytes"] = counts.data_bytes;
  json["coverage"] = coverage_json(manifest);
  json["losses"] = losses_json(manifest);
  json["dump"] = completeness_json(dump.index().completeness());
  json["problems"] = Json::array();
  for (size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i) json["problems"].push_back(problems[i]);
  json["program"] = member_or_null(manifest, "program");
  json["source"] = member_or_null(manifest, "source");
  json["overhead"] = overhead_json(manifest);
  json["find"] = is_complete ? dump.find_report() : Json(nullptr);
  json["changed"] = !dump.is_live() && dump.changed();
  json["live"] = dump.is_live();
  return json;
}

}  // namespace tensortap
