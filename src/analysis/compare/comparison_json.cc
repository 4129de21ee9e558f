#include "compare/comparison_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_members.h"
#include "compare/block_types.h"
#include "compare/culprit_text.h"
#include "compare/difference_json.h"
#include "compare/early_end.h"
#include "compare/not_known.h"
#include "compare/region.h"
#include "compare/settings_difference.h"

namespace tensortap {
namespace {

std::vector<int64_t> dims_of(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  return {desc.shape.dims().begin(), desc.shape.dims().end()};
}

Json number_or_null(double value) { return std::isnan(value) ? Json(nullptr) : json_number(value); }

Json row_or_null(const DumpIndex& dump, uint32_t row) { return row == kNoRow ? Json(nullptr) : Json(record_name_of(dump, row)); }

Json place_json(const DumpComparison& comparison, const ComparisonSummary::Place& place) {
  if (place.row_b == kNoRow) return nullptr;
  const RecordRow& of_a = comparison.a().rows()[place.row_a];
  return {{"a", record_name_of(comparison.a(), place.row_a)},
          {"b", record_name_of(comparison.b(), place.row_b)},
          {"type", op_of(comparison.b(), comparison.b().rows()[place.row_b]).type},
          {"error", number_or_null(place.error)},
          {"first_differing", coordinates_json(of_a, place.at)},
          {"growth", place.growth > 0 ? json_number(place.growth) : Json(nullptr)}};
}

template <size_t N, class Enum, class Count>
Json by_name(const std::array<Count, N>& counts, std::string_view (*name)(Enum)) {
  Json json = Json::object();
  for (size_t i = 0; i < N; ++i) json[std::string(name(static_cast<Enum>(i)))] = counts[i];
  return json;
}

Json results_json(const ValueTable& table, const ComparisonSummary::ResultCount& count) {
  const bool any = count.first_open != kNoValue;
  return {{"paired", count.paired},
          {"open", count.open},
          {"first_open", any ? Json(record_name_of(table.dump(), table.at(count.first_open).rows.front())) : Json(nullptr)}};
}

Json attributes_json(const Judgement& judgement) {
  Json json = Json::array();
  for (const AttributeDifference& one : judgement.attributes) json.push_back({{"name", one.name}, {"a", one.a}, {"b", one.b}});
  return json;
}

Json region_json(const ValueTable& table, const std::vector<uint32_t>& rows) {
  Json json = Json::array();
  for (const OpId id : region_ops(table, rows)) {
    const OpInfo& op = table.dump().ops()[id];
    json.push_back({{"op", op.name}, {"type", op.type}});
  }
  return json;
}

Json clipped_json(const DumpComparison& comparison, const Judgement::Clipped& clipped) {
  if (clipped.row == kNoRow) return nullptr;
  const DumpIndex& dump = clipped.of_a ? comparison.a() : comparison.b();
  return {{"op", op_of(dump, dump.rows()[clipped.row]).name}, {"side", clipped.of_a ? "A" : "B"}, {"share", json_number(clipped.share)}};
}

void add_judgement(Json& json, const DumpComparison& comparison, const Judgement& judgement) {
  json["finding"] = judgement.finding == Finding::kNone ? Json(nullptr) : Json(finding_name(judgement.finding));
  if (judgement.finding == Finding::kNone) return;
  json["root"] = !judgement.follows;
  json["level"] = json_number(judgement.level);
  json["input_level"] = json_number(judgement.in);
  json["allowed"] = json_number(judgement.allowed);
  json["step_of_type"] = json_number(judgement.step);
  json["gap"] = judgement.gap;
  json["inputs"] = {{"with_partner", judgement.inputs.with_partner},
                    {"without_partner_a", judgement.inputs.without_a},
                    {"without_partner_b", judgement.inputs.without_b},
                    {"all_captured", judgement.inputs.captured}};
  json["attributes"] = attributes_json(judgement);
  json["clipped"] = clipped_json(comparison, judgement.clipped);
  json["region_a"] = region_json(comparison.table_a(), judgement.between_a);
  json["region_b"] = region_json(comparison.table_b(), judgement.between_b);
}

Json culprit_json(const DumpComparison& comparison) {
  const std::optional<ComparedValue>& culprit = comparison.summary().culprit;
  if (!culprit) return nullptr;
  const std::optional<uint64_t> at = culprit->data ? culprit->data->first_differing : std::nullopt;
  Json json = place_json(comparison, {culprit->row_a, culprit->row_b, culprit->error, at, culprit->growth()});
  json["text"] = culprit_text(comparison);
  json["type_a"] = op_of(comparison.a(), comparison.a().rows()[culprit->row_a]).type;
  json["weight"] = row_or_null(comparison.b(), culprit->judgement.weight);
  json["reason"] = culprit->reason.empty() ? Json(nullptr) : Json(culprit->reason);
  add_judgement(json, comparison, culprit->judgement);
  return json;
}

// Null unless token ids decided which steps are compared.
// The types of blocks that weights of each program are in, with what these lose; null where both have the same.
Json blocks_json(const DumpComparison& comparison) {
  const auto types_of = [](const DumpIndex& dump) {
    std::map<std::string, double> types;
    for (const OpInfo& op : dump.ops()) {
      if (const std::string type = block_type_of(op); !type.empty()) types.emplace(type, loss_of_blocks(type));
    }
    return types;
  };
  const auto of_a = types_of(comparison.a());
  const auto of_b = types_of(comparison.b());
  return of_a == of_b ? Json(nullptr) : Json({{"a", of_a}, {"b", of_b}});
}

Json steps_by_ids_json(const ChosenSteps& steps) {
  if (!steps.by_ids) return nullptr;
  Json pairs = Json::array();
  for (const StepPair& pair : steps.pairs) pairs.push_back({pair.a, pair.b});
  return {{"pairs", pairs}, {"alone_a", steps.alone_a}, {"alone_b", steps.alone_b}};
}

Json other_shape_json(const DumpComparison& comparison) {
  const std::optional<OtherShape>& other = comparison.summary().other_shape;
  if (!other) return nullptr;
  return {{"a", record_name_of(comparison.a(), other->row_a)},
          {"b", record_name_of(comparison.b(), other->row_b)},
          {"given", other->given},
          {"shape_a", dims_of(comparison.a().rows()[other->row_a])},
          {"shape_b", dims_of(comparison.b().rows()[other->row_b])}};
}

}  // namespace

std::string record_name_of(const DumpIndex& dump, uint32_t row) {
  const RecordRow& record = dump.rows()[row];
  return record_name(record, op_of(dump, record).name);
}

Json compared_json(const DumpComparison& comparison, const ComparedValue& value) {
  const RecordRow& of_a = comparison.a().rows()[value.row_a];
  const RecordRow& of_b = comparison.b().rows()[value.row_b];
  const ValuePair& pair = comparison.pairing().pairs[value.pair];
  Json json;
  json["a"] = record_name_of(comparison.a(), value.row_a);
  json["b"] = record_name_of(comparison.b(), value.row_b);
  json["type_a"] = op_of(comparison.a(), of_a).type;
  json["type_b"] = op_of(comparison.b(), of_b).type;
  json["step_a"] = of_a.step;
  json["step_b"] = of_b.step;
  json["rank"] = of_a.rank;
  json["dtype_a"] = dtype_name(static_cast<DType>(of_a.dtype));
  json["dtype_b"] = dtype_name(static_cast<DType>(of_b.dtype));
  json["shape_a"] = dims_of(of_a);
  json["shape_b"] = dims_of(of_b);
  json["given"] = comparison.table_b().at(pair.b).given;
  json["rule"] = pair_rule_name(pair.rule);
  json["order"] = pair.accepted.order.text();
  json["verdict"] = verdict_name(value.verdict);
  json["error"] = number_or_null(value.error);
  json["tolerance"] = value.basis.by_rules ? Json({{"absolute", value.rule.absolute}, {"relative", value.rule.relative}})
                                           : Json(json_number(value.basis.relative_l2));
  json["noise"] = number_or_null(value.basis.floor);
  add_judgement(json, comparison, value.judgement);
  json["birth"] = value.birth == Birth::kNone ? Json(nullptr) : Json(birth_name(value.birth));
  json["growth"] = value.growth() > 0 ? json_number(value.growth()) : Json(nullptr);
  json["from"] = row_or_null(comparison.b(), value.source);
  json["weight"] = row_or_null(comparison.b(), value.weight);
  if (value.data) add_difference(json, of_a, *value.data);
  if (value.statistics) {
    const StatisticsGap gap = largest_gap(*value.statistics);
    json["statistics"] = {{"largest", json_number(gap.largest)},
                          {"statistic", gap.statistic},
                          {"same_digest", value.statistics->digest == DigestAnswer::kEqual}};
  }
  if (!value.reason.empty()) json["reason"] = value.reason;
  return json;
}

Json unpaired_json(const DumpComparison& comparison, const Unpaired& one, bool of_a) {
  const ValueTable& table = of_a ? comparison.table_a() : comparison.table_b();
  return {{"unpaired", of_a ? "A" : "B"},
          {"value", record_name_of(table.dump(), table.at(one.id).rows.front())},
          {"type", table.op(one.id).type},
          {"why", absence_name(one.why)},
          {"by", one.by.empty() ? Json(nullptr) : Json(one.by)},
          {"open_end", one.is_open_end}};
}

Json summary_json(const DumpComparison& comparison) {
  const ComparisonSummary& summary = comparison.summary();
  Json json;
  const std::vector<SettingDifference> settings = settings_difference(comparison.a(), comparison.b());
  json["settings_differ"] = text_or_null(settings_text(settings));
  json["settings"] = settings_json(settings);
  json["values_a"] = summary.values_a;
  json["values_b"] = summary.values_b;
  json["paired"] = summary.paired;
  json["rules"] = by_name(summary.by_rule, pair_rule_name);
  json["refused"] = by_name(comparison.pairing().refused, pair_rule_name);
  json["unpaired_a"] = by_name(summary.absent_a, absence_name);
  json["unpaired_b"] = by_name(summary.absent_b, absence_name);
  json["results_a"] = results_json(comparison.table_a(), summary.results_a);
  json["results_b"] = results_json(comparison.table_b(), summary.results_b);
  json["steps"] = comparison.alignment().steps();
  json["steps_by_order"] = comparison.steps().by_order;
  json["steps_by_ids"] = steps_by_ids_json(comparison.steps());
  json["blocks"] = blocks_json(comparison);
  json["records"] = summary.records;
  json["verdicts"] = by_name(summary.verdicts, verdict_name);
  json["given"] = by_name(summary.given, verdict_name);
  json["largest_error"] = json_number(summary.largest_error);
  json["largest_noise_ratio"] = json_number(summary.largest_noise_ratio);
  json["noise_dumps"] = comparison.noise_dumps();
  json["allow"] = comparison.allow();
  json["with_noise"] = summary.with_noise;
  json["first_differing"] = place_json(comparison, summary.first);
  json["first_outside"] = place_json(comparison, summary.first_outside);
  json["first_given"] = place_json(comparison, summary.first_given);
  json["culprit"] = culprit_json(comparison);
  json["findings"] = summary.roots;
  json["other_shape"] = other_shape_json(comparison);
  const std::string inputs = other_inputs_text(comparison);
  json["other_inputs"] = inputs.empty() ? Json(nullptr) : Json(inputs);
  json["details"] = culprit_details(comparison);
  json["born"] = Json::array();
  for (const ComparisonSummary::Place& place : summary.born) json["born"].push_back(place_json(comparison, place));
  json["inherited"] = summary.inherited;
  json["unknown"] = summary.unknown;
  json["largest_growth"] = place_json(comparison, summary.largest_growth);
  json["judged"] = summary.judged();
  json["other_sizes"] = summary.other_sizes;
  json["addresses"] = summary.addresses;
  json["uncompared"] = summary.uncompared;
  json["unreadable"] = summary.unreadable;
  json["first_unreadable"] = summary.first_unreadable.empty() ? Json(nullptr) : Json(summary.first_unreadable);
  json["first_reason"] = summary.first_reason.empty() ? Json(nullptr) : Json(summary.first_reason);
  json["outside"] = summary.outside();
  json["not_known"] = text_or_null(not_known_text(comparison));
  json["ended_early_a"] = early_end_json(comparison.a());
  json["ended_early_b"] = early_end_json(comparison.b());
  return {{"summary", json}};
}

}  // namespace tensortap
