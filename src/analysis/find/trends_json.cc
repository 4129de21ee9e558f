#include "find/trends_json.h"

#include <array>
#include <cmath>
#include <string>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "find/find_json.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr size_t kKinds = 5;

void add_numbers(const Trend& trend, Json& json) {
  json["since"] = trend.since;
  json["steps"] = trend.steps;
  json["measure"] = std::string(measure_name(trend.measure));
  json["slope"] = trend.slope != 0 ? json_number(trend.slope) : Json(nullptr);
  json["doubling"] = trend.slope != 0 ? json_number(1 / std::abs(trend.slope)) : Json(nullptr);
  const bool has_values = trend.measure != Measure::kContent;
  json["from"] = has_values ? json_number(trend.from) : Json(nullptr);
  json["to"] = has_values ? json_number(trend.to) : Json(nullptr);
}

Json trend_json(const DumpIndex& dump, const Trend& trend) {
  const RecordRow& record = dump.rows()[trend.row];
  Json json = Json::object();
  json["kind"] = std::string(trend_name(trend.kind));
  json.update(named(dump, trend.row));
  json["rank"] = record.rank;
  json["dtype"] = std::string(dtype_name(static_cast<DType>(record.dtype)));
  add_numbers(trend, json);
  json["evidence"] = json_number(trend.evidence);
  json["steps_to_limit"] = trend.steps_to_limit ? json_number(*trend.steps_to_limit) : Json(nullptr);
  add_place(dump, record, json);
  return json;
}

std::string unjudged_text(const TrendReport& report) {
  if (report.judged == 0) return concat("no series has statistics of ", kLeastJudged, " steps");
  if (report.unknown == 0) return {};
  return concat("of ", report.unknown, " of ", report.series, " series too few steps have statistics");
}

Json depth_json(const GradientDepth& depth) {
  return {{"step", depth.step},
          {"modules", depth.modules},
          {"slope", json_number(depth.slope)},
          {"first", depth.first},
          {"last", depth.last},
          {"from", json_number(depth.first_rms)},
          {"to", json_number(depth.last_rms)}};
}

}  // namespace

Json trends_json(const DumpIndex& dump, const TrendReport& report, size_t limit) {
  std::array<size_t, kKinds> counts{};
  Json list = Json::array();
  for (const Trend& trend : report.trends) {
    if (counts[static_cast<size_t>(trend.kind)]++ < limit) list.push_back(trend_json(dump, trend));
  }
  Json json = {{"steps", report.steps},         {"series", report.series},     {"judged", report.judged}, {"unknown", report.unknown},
               {"nonfinite", report.nonfinite}, {"harmless", report.harmless}, {"counts", Json::object()}};
  json["not_known"] = text_or_null(unjudged_text(report));
  for (size_t kind = 0; kind < kKinds; ++kind) json["counts"][std::string(trend_name(static_cast<TrendKind>(kind)))] = counts[kind];
  json["trends"] = std::move(list);
  json["depth"] = report.depth ? depth_json(*report.depth) : Json(nullptr);
  return json;
}

Json lead_json(const DumpIndex& dump, const Trend& lead) {
  const RecordRow& record = dump.rows()[lead.row];
  Json json = Json::object();
  json["record"] = record_name(record, op_of(dump, record).name);
  json["slot"] = slot_name(static_cast<SlotKind>(record.slot_kind), record.slot_index);
  add_numbers(lead, json);
  return json;
}

bool finds_trend(const Json& report) { return !report.at("trends").empty() || !report.at("depth").is_null(); }

}  // namespace tensortap
