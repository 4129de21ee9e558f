#include "serve/series_answers.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "find/trends_json.h"
#include "query/row_columns.h"
#include "query/row_query.h"

namespace tensortap {
namespace {

constexpr int64_t kTrendsOfAKind = 100;
constexpr size_t kMostGaps = 10'000;
constexpr size_t kMostKeys = 16;

// The columns of "l2,absmax": those that hold numbers.
Result<std::vector<const RowColumn*>> asked_columns(const std::string& keys) {
  std::vector<std::string> names;
  for (const RowColumn& column : row_columns()) {
    if (column.kind == ColumnKind::kNumber) names.emplace_back(column.name);
  }
  std::vector<const RowColumn*> columns;
  for (const std::string_view key : split(keys.empty() ? std::string_view("absmax") : std::string_view(keys), ',')) {
    const RowColumn* column = find_column(trim(key));
    if (column == nullptr || column->kind != ColumnKind::kNumber) {
      return invalid_argument(concat("key ", quote(key), ": no number of a record.", did_you_mean(key, names)));
    }
    if (columns.size() == kMostKeys) return invalid_argument(concat("key: more than ", kMostKeys));
    columns.push_back(column);
  }
  return columns;
}

// As the JSON of a record has it.
Json number_json(const RowColumn& column, const DumpIndex& dump, uint32_t row) {
  const RowValue value = column_value(column, dump, row);
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* count = std::get_if<uint64_t>(&value)) return *count;
  return json_number(number_of(value));
}

Json trends_of(const ServedDump& dump, const Series& series) {
  const std::set<uint32_t> rows(series.rows.begin(), series.rows.end());
  TrendReport own;
  for (const Trend& trend : dump.trends().trends) {
    if (rows.contains(trend.row)) own.trends.push_back(trend);
  }
  return std::move(trends_json(dump.index(), own, own.trends.size())["trends"]);
}

Json series_json(const ServedDump& dump, const Series& series, const std::vector<const RowColumn*>& columns) {
  Json json = {{"op_id", series.op},
               {"op", dump.index().ops()[series.op].name},
               {"slot", slot_name(series.slot_kind, series.slot_index)},
               {"element", series.element < 0 ? Json(nullptr) : Json(series.element)},
               {"phase", phase_name(static_cast<Phase>(series.phase))},
               {"rank", series.rank},
               {"keys", Json::object()},
               {"steps", Json::array()},
               {"records", series.rows},
               {"calls", Json::array()},
               {"trends", trends_of(dump, series)}};
  for (const uint32_t row : series.rows) {
    json["steps"].push_back(dump.rows()[row].step);
    json["calls"].push_back(dump.rows()[row].call);
  }
  for (const RowColumn* column : columns) {
    Json numbers = Json::array();
    for (const uint32_t row : series.rows) numbers.push_back(number_json(*column, dump.index(), row));
    json["keys"][std::string(column->name)] = std::move(numbers);
  }
  return json;
}

}  // namespace

Json series_list_json(const ServedDump& dump, std::span<const uint32_t> rows, const std::vector<const RowColumn*>& columns) {
  Json list = Json::array();
  for (const Series& series : series_of(dump.index(), rows)) list.push_back(series_json(dump, series, columns));
  return list;
}

Json gaps_json(const ServedDump& dump) {
  Json gaps = Json::array();
  const std::vector<int64_t>& steps = dump.counts().steps;
  for (size_t i = 1; i < steps.size(); ++i) {
    for (int64_t step = steps[i - 1] + 1; step < steps[i] && gaps.size() < kMostGaps; ++step) gaps.push_back(step);
  }
  return gaps;
}

Result<Answer> series_answer(const AskedDump& asked) {
  const WebRequest& request = asked.request;
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "op", "slot", "key"}));
  TENSORTAP_ASSIGN_OR_RETURN(const OpId op, parse_op(asked.dump, request.text("op")));
  TENSORTAP_ASSIGN_OR_RETURN(const auto columns, asked_columns(request.text("key")));
  std::string slot = request.text("slot");
  if (slot.empty()) slot = "out0";
  SlotKind kind = SlotKind::kOutput;
  uint32_t number = 0;
  if (!parse_slot(slot, kind, number)) return invalid_argument(concat("slot ", quote(slot), ": not a slot, such as out0, in1"));
  std::vector<uint32_t> rows;
  for (const uint32_t row : asked.dump.rows_of(op)) {
    const RecordRow& record = asked.dump.rows()[row];
    if (record.slot_kind == static_cast<uint8_t>(kind) && record.slot_index == number) rows.push_back(row);
  }
  return json_answer({{"series", series_list_json(asked.dump, rows, columns)}, {"gaps", gaps_json(asked.dump)}});
}

Result<Answer> trends_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t limit, asked.request.number("limit", kTrendsOfAKind, 1, 1000));
  const TrendReport& report = asked.dump.trends();
  Json json = trends_json(asked.dump.index(), report, static_cast<size_t>(limit));
  std::array<int64_t, 16> shown{};  // of each kind: those beyond the limit are not in the list
  size_t place = 0;
  for (const Trend& trend : report.trends) {
    if (shown[static_cast<size_t>(trend.kind)]++ >= limit || place == json["trends"].size()) continue;
    json["trends"][place++]["op_id"] = asked.dump.rows()[trend.row].op;
  }
  return json_answer(json);
}

}  // namespace tensortap
