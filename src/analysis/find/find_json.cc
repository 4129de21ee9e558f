#include "find/find_json.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_members.h"
#include "find/nonfinite_counts.h"

namespace tensortap {
namespace {

constexpr size_t kMostPlaces = 100;

Json number_or_null(const std::optional<double>& number) { return number ? json_number(*number) : Json(nullptr); }

Json stat(const TensorStats& stats, Stat bit, double value) { return (stats.valid & bit) != 0 ? json_number(value) : Json(nullptr); }

Json input_json(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  const bool unwritten = (record.flags & kRecordUnwritten) != 0;
  const std::optional<NonFiniteRecord> nonfinite = unwritten ? std::nullopt : nonfinite_in(dump, row);
  const TensorStats stats = unwritten ? TensorStats{} : stats_with(dump, row, kStatMin | kStatMax | kStatAbsMax).value_or(record.stats);
  Json json = Json::object();
  json["record"] = record_name(record, op_of(dump, record).name);
  json["min"] = stat(stats, kStatMin, stats.min);
  json["max"] = stat(stats, kStatMax, stats.max);
  json["absmax"] = stat(stats, kStatAbsMax, stats.absmax);
  json["unwritten"] = unwritten;
  json["nonfinite"] = nonfinite ? nonfinite->nan + nonfinite->pos_inf + nonfinite->neg_inf : 0;
  return json;
}

void add_counts(const NonFiniteRecord& record, Json& json) {
  json["nan"] = record.nan;
  json["pos_inf"] = record.pos_inf;
  json["neg_inf"] = record.neg_inf;
}

Json gradient_list(const DumpIndex& dump, const std::vector<GradientRecord>& gradients) {
  Json list = Json::array();
  for (const GradientRecord& gradient : gradients) {
    Json json = named(dump, gradient.row);
    json["rms"] = json_number(gradient.rms);
    json["ratio"] = json_number(gradient.ratio);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json named(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  const OpInfo& op = op_of(dump, record);
  Json json = Json::object();
  json["record"] = record_name(record, op.name);
  json["op"] = op.name;
  json["type"] = op.type;
  json["slot"] = slot_name(static_cast<SlotKind>(record.slot_kind), record.slot_index);
  json["step"] = record.step;
  return json;
}

void add_place(const DumpIndex& dump, const RecordRow& row, Json& json) {
  const OpInfo& op = op_of(dump, row);
  json["source"] = text_or_null(op.source_location);
  json["module"] = text_or_null(op.module);
  json["phase"] = std::string(phase_name(static_cast<Phase>(row.phase)));
  json["forward"] = nullptr;
  const std::string forward = attribute_text(op, kForwardOp);
  if (forward.empty()) return;
  Json place = {{"op", forward}, {"module", nullptr}, {"source", nullptr}};
  const auto found = std::ranges::find(dump.ops(), forward, &OpInfo::name);
  if (found != dump.ops().end()) {
    place["module"] = text_or_null(found->module);
    place["source"] = text_or_null(found->source_location);
  }
  json["forward"] = std::move(place);
}

Json nonfinite_json(const DumpIndex& dump, const NonFiniteRecord& record) {
  const RecordRow& row = dump.rows()[record.row];
  const OpInfo& op = op_of(dump, row);
  Json json = Json::object();
  json["step"] = row.step;
  json["op"] = op.name;
  json["type"] = op.type;
  json["slot"] = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  add_counts(record, json);
  json["index"] = record.index_known ? Json(record.index) : Json(nullptr);
  add_place(dump, row, json);
  return json;
}

Json unwritten_json(const DumpIndex& dump, size_t row) {
  Json json = named(dump, row);
  json["partly"] = (dump.rows()[row].flags & kRecordUnwritten) == 0 && (dump.rows()[row].value_flags & kValuePartlyUnwritten) != 0;
  add_place(dump, dump.rows()[row], json);
  return json;
}

Json origin_json(const DumpIndex& dump, const NonFiniteOrigin& origin) {
  Json chain = Json::array();
  for (const OriginStep& step : origin.chain) {
    Json json = named(dump, step.row);
    if (const std::optional<NonFiniteRecord> nonfinite = nonfinite_in(dump, step.row)) {
      add_counts(*nonfinite, json);
      json["index"] = nonfinite->index_known ? Json(nonfinite->index) : Json(nullptr);
    }
    // Looking a name up is linear in the ops: of a long chain the ends say it.
    if (chain.size() < kMostPlaces || &step == &origin.chain.back()) add_place(dump, dump.rows()[step.row], json);
    Json inputs = Json::array();
    for (const size_t input : step.inputs) inputs.push_back(input_json(dump, input));
    json["inputs"] = std::move(inputs);
    json["missing"] = step.missing;
    chain.push_back(std::move(json));
  }
  Json json = Json::object();
  json["kind"] = std::string(origin_kind_name(origin.kind));
  json["certain"] = origin.certain;
  json["harmless"] = origin.harmless;
  json["reached"] = text_or_null(std::string(origin.reached));
  const auto dtype = static_cast<DType>(dump.rows()[origin.chain.back().row].dtype);
  json["overflow"] = origin.overflowed ? Json(dtype_name(dtype)) : Json(nullptr);
  json["swallowed_by"] = nullptr;
  if (origin.swallowed_by) {
    const std::optional<TensorStats> made = stats_with(dump, *origin.swallowed_by, kStatZero);
    json["swallowed_by"] = named(dump, *origin.swallowed_by);
    json["swallowed_by"]["zero"] = made ? Json(made->zero) : Json(nullptr);
    add_place(dump, dump.rows()[*origin.swallowed_by], json["swallowed_by"]);
  }
  json["chain"] = std::move(chain);
  return json;
}

Json headroom_json(const DumpIndex& dump, const Headroom& headroom, std::string_view target) {
  Json json = named(dump, headroom.row);
  json["target"] = std::string(target);
  json["absmax"] = number_or_null(headroom.absmax);
  json["binades"] = number_or_null(headroom.binades);
  json["overflows"] = headroom.overflows;
  json["holds_inf"] = headroom.holds_inf;
  json["overflow_share"] = number_or_null(headroom.overflow_share);
  json["subnormal_share"] = number_or_null(headroom.subnormal_share);
  json["zero_share"] = number_or_null(headroom.zero_share);
  json["records"] = headroom.records;
  return json;
}

Json dead_output_json(const DumpIndex& dump, const DeadOutput& dead) {
  Json json = named(dump, dead.row);
  json.erase("step");
  json["records"] = dead.records;
  return json;
}

Json gradients_json(const DumpIndex& dump, const GradientReport& report) {
  if (report.records == 0) return nullptr;
  Json json = Json::object();
  json["records"] = report.records;
  json["exploding"] = gradient_list(dump, report.exploding);
  json["vanishing"] = gradient_list(dump, report.vanishing);
  return json;
}

Json op_source_json(const DumpIndex& dump, OpId op) {
  const OpInfo& info = dump.ops()[op];
  Json json = Json::object();
  json["op"] = info.name;
  json["type"] = info.type;
  json["source"] = text_or_null(info.source_location);
  Json originals = Json::array();
  for (const OriginalNode& original : info.originals) originals.push_back(original.name);
  json["originals"] = std::move(originals);
  return json;
}

}  // namespace tensortap
