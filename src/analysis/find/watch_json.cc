#include "find/watch_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "find/find_json.h"
#include "find/watch_condition.h"
#include "find/watch_values.h"
#include "find/watchpoints.h"
#include "query/row_query.h"

namespace tensortap {
namespace {

Json errors_json(uint8_t errors) {
  Json words = Json::array();
  for (const auto& [bit, word] : {std::pair{kWatchNaN, "nan"}, {kWatchInf, "inf"}, {kWatchNoPrevious, "no_previous"}}) {
    if ((errors & bit) != 0) words.push_back(word);
  }
  return words;
}

Json hit_json(const DumpIndex& dump, const Watchpoint& watchpoint, const WatchHit& hit) {
  Json json = named(dump, hit.row);
  json["rank"] = dump.rows()[hit.row].rank;
  json["errors"] = errors_json(hit.errors);
  json["error_code"] = hit.errors;
  json["parameters"] = Json::array();
  for (size_t i = 0; i < hit.values.size(); ++i) {
    const auto& [actual, is_hit] = hit.values[i];
    const auto& [parameter, value] = watchpoint.values[i];
    json["parameters"].push_back({{"name", std::string(parameter->name)},
                                  {"value", json_number(value)},
                                  {"hit", is_hit},
                                  {"actual", actual ? json_number(*actual) : Json(nullptr)}});
  }
  add_place(dump, dump.rows()[hit.row], json);
  return json;
}

Json answer_json(const DumpIndex& dump, const Watchpoint& watchpoint, const WatchAnswer& answer) {
  Json json = Json::object();
  json["condition"] = std::string(watchpoint.condition->name);
  json["target"] = std::string(watch_target_name(watchpoint.condition->target));
  json["parameters"] = Json::object();
  for (const auto& [parameter, value] : watchpoint.values) json["parameters"][std::string(parameter->name)] = json_number(value);
  json["activation"] = watchpoint.activation.empty() ? Json(nullptr) : Json(watchpoint.activation);
  json["checked"] = answer.checked;
  json["unknown"] = answer.unknown;
  json["hit_count"] = answer.hit_count;
  json["error_count"] = answer.error_count;
  for (const auto& [key, list] : {std::pair{"hits", &answer.hits}, {"errors", &answer.errors}}) {
    json[key] = Json::array();
    for (const WatchHit& hit : *list) json[key].push_back(hit_json(dump, watchpoint, hit));
  }
  return json;
}

// A condition on changes cannot hold in the first step of a series; a dump without a second step is not judged at all.
std::string unjudged_text(std::span<const Watchpoint> watchpoints, std::span<const WatchAnswer> answers) {
  if (std::ranges::all_of(answers, [](const WatchAnswer& one) { return one.checked == 0; })) return "no record could be checked";
  std::vector<std::string> texts;
  for (size_t i = 0; i < answers.size(); ++i) {
    const WatchAnswer& one = answers[i];
    const uint64_t unjudged = one.checked > 0 && one.error_count == one.checked ? one.checked : one.unknown + one.nonfinite;
    if (unjudged == 0) continue;
    texts.push_back(concat(watchpoints[i].condition->name, " was not judged for ", unjudged, " of ", counted(one.checked, "record")));
  }
  return join(texts, "; ");
}

// The query names its members "op" and "step".
Status renamed(const Status& status) {
  const std::string& message = status.message();
  const size_t end = message.find_first_of(" :");
  return {status.code(), end == std::string::npos ? message : concat(message.substr(0, end), "s", message.substr(end))};
}

}  // namespace

Status check_conditions(const WatchQuestion& question) {
  const auto watchpoints = parse_watchpoints(question.conditions);
  return watchpoints.ok() ? Status() : Status(watchpoints.status().code(), concat("watch: ", watchpoints.status().message()));
}

Result<Json> watch_json(const DumpIndex& dump, const WatchQuestion& question, size_t limit) {
  TENSORTAP_RETURN_IF_ERROR(check_conditions(question));
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<Watchpoint> watchpoints, parse_watchpoints(question.conditions));
  const auto rows = select_rows(
      dump, {.op = question.ops, .type = question.types, .module = question.modules, .step = question.steps, .last = question.last});
  if (!rows.ok()) return renamed(rows.status());
  const std::vector<WatchAnswer> answers = check_watchpoints(dump, watchpoints, *rows, limit);
  Json json = {{"hits", 0}, {"not_known", nullptr}, {"watchpoints", Json::array()}};
  uint64_t hits = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    hits += answers[i].hit_count;
    json["watchpoints"].push_back(answer_json(dump, watchpoints[i], answers[i]));
  }
  json["hits"] = hits;
  json["not_known"] = text_or_null(unjudged_text(watchpoints, answers));
  return json;
}

bool has_hits(const Json& report) { return report.at("hits") != 0; }

}  // namespace tensortap
