#include "serve/record_answers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "query/record_json.h"
#include "query/row_query.h"
#include "query/sketch_json.h"
#include "query/value_name.h"
#include "read/record_histogram.h"
#include "serve/served_comparison.h"

namespace tensortap {
namespace {

constexpr size_t kMostBeside = 100;  // inputs, outputs or consumers of one record

Json op_or_null(const DumpIndex& dump, OpId op) { return op < dump.ops().size() ? Json(op) : Json(nullptr); }

// {"record", "slot", "name", "shape", "dtype"}
Json beside_json(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  const TensorDesc desc = record.desc();
  return {{"record", row},
          {"slot", slot_name(static_cast<SlotKind>(record.slot_kind), record.slot_index)},
          {"name", value_name(dump, record)},
          {"shape", std::vector<int64_t>(desc.shape.dims().begin(), desc.shape.dims().end())},
          {"dtype", dtype_name(desc.dtype)}};
}

// What the execution read. A value that was not captured has a name only.
Json inputs_json(const ServedDump& dump, size_t row) {
  Json list = Json::array();
  uint32_t number = 0;
  for (const RecordLookup::Read& read : dump.lookup().reads_of(row)) {
    if (list.size() == kMostBeside) break;
    Json one = read.row ? beside_json(dump.index(), *read.row) : Json{{"record", nullptr}, {"shape", nullptr}, {"dtype", nullptr}};
    one["slot"] = slot_name(SlotKind::kInput, number++);
    one["name"] = read.value;
    list.push_back(std::move(one));
  }
  return list;
}

Json outputs_json(const ServedDump& dump, size_t row) {
  Json list = Json::array();
  const auto execution = RecordLookup::execution_of(dump.rows()[row]);
  for (const uint32_t other : dump.rows_of(dump.rows()[row].op)) {
    const RecordRow& record = dump.rows()[other];
    if (is_input(record) || RecordLookup::execution_of(record) != execution || list.size() == kMostBeside) continue;
    list.push_back(beside_json(dump.index(), other));
  }
  return list;
}

// The readers of this content of memory, in dumps that record the memory of each tensor.
Json memory_consumers(const ServedDump& dump, size_t row) {
  Json list = Json::array();
  const RecordRow& made = dump.rows()[row];
  for (size_t other = 0; other < dump.rows().size() && list.size() < kMostBeside; ++other) {
    const RecordRow& record = dump.rows()[other];
    if (!is_input(record) || record.storage != made.storage || record.version != made.version) continue;
    const OpInfo& op = op_of(dump.index(), record);
    list.push_back({{"record", other}, {"op_id", op_or_null(dump.index(), record.op)}, {"op", op.name}, {"type", op.type}});
  }
  return list;
}

// The ops that read a value, by the graph.
Json graph_consumers(const ServedDump& dump, size_t row) {
  Json list = Json::array();
  const RecordRow& made = dump.rows()[row];
  const OpInfo& maker = op_of(dump.index(), made);
  const std::string name = value_name(dump.index(), made);
  for (OpId id = 0; id < dump.index().ops().size() && list.size() < kMostBeside; ++id) {
    const OpInfo& op = dump.index().ops()[id];
    const bool reads = std::ranges::any_of(op.inputs, [&](const OpInput& input) {
      if (input.producer != kNoOp) return input.producer == made.op && input.producer_slot == made.slot_index;
      return !name.empty() && input.name == name && op.graph == maker.graph;
    });
    if (reads) list.push_back({{"record", nullptr}, {"op_id", id}, {"op", op.name}, {"type", op.type}});
  }
  return list;
}

Json consumers_json(const ServedDump& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  if (is_input(record)) return Json::array();
  return record.storage != 0 ? memory_consumers(dump, row) : graph_consumers(dump, row);
}

// Rows that a request asks for, all of them. An `op` of digits is the number of an op, anything else what `ls --op` takes.
Result<std::vector<uint32_t>> choose_rows(const ServedDump& dump, const WebRequest& request) {
  RowQuery query;
  const std::string op = request.text("op");
  uint64_t number = 0;
  const bool by_number = parse_unsigned(op, number);
  if (by_number && number >= dump.index().ops().size()) return not_found(concat("op ", number, ": the dump has no such op"));
  if (!by_number) query.op = op;
  query.type = request.text("type");
  query.module = request.text("module");
  query.step = request.text("step");
  if (request.has("last")) {
    if (!parse_unsigned(request.text("last"), query.last) || query.last == 0) {
      return invalid_argument(concat("last ", quote(request.text("last")), ": not a number of steps"));
    }
  }
  query.slot = request.text("slot");
  query.where = request.text("where");
  query.sort = request.text("sort");
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<uint32_t> rows, select_rows(dump.index(), query));
  if (by_number) std::erase_if(rows, [&](uint32_t row) { return dump.rows()[row].op != number; });
  return rows;
}

// What the page of a program that runs asks twice a second, of a dump that may have millions of records by then.
Json all_records_json(const ServedDump& dump, const WebRequest::Page& page) {
  Json list = list_json(page.from, page.limit, dump.rows().size());
  const size_t begin = std::min(page.from, dump.rows().size());
  const size_t end = begin + std::min(page.limit, dump.rows().size() - begin);
  for (size_t row = begin; row < end; ++row) list["items"].push_back(listed_record_json(dump.index(), row));
  return list;
}

}  // namespace

Json listed_record_json(const DumpIndex& dump, size_t row) {
  Json json = record_json(dump, row);
  json["record"] = row;
  json["op_id"] = op_or_null(dump, dump.rows()[row].op);
  json["module"] = text_or_null(op_of(dump, dump.rows()[row]).module);
  json["bytes"] = dump.rows()[row].bytes;
  const int64_t duration = dump.rows()[row].duration_ns;
  json["duration"] = duration < 0 ? Json(nullptr) : Json(static_cast<double>(duration) / 1e9);
  return json;
}

Json whole_record_json(const ServedDump& dump, size_t row) {
  const DumpIndex& index = dump.index();
  const RecordRow& record = index.rows()[row];
  const OpInfo& op = op_of(index, record);
  const bool has_data = (record.flags & kRecordHasData) != 0;
  Json json = shown_record_json(index, row);
  json["record"] = row;
  json["op_id"] = op_or_null(index, record.op);
  json["record_name"] = record_name(record, op.name);
  json["value"] = text_or_null(value_name(dump.index(), record));
  json["module"] = text_or_null(op.module);
  json["graph"] = text_or_null(op.graph);
  json["attributes"] = text_or_null(op.attributes);
  json["has_data"] = has_data;
  json["data_lost"] = (record.flags & kRecordDataLost) != 0;
  const auto histogram = histogram_of(index, row, has_data ? dump.data(row) : Result<RecordData>(not_found("")));
  json["histogram"] = histogram.empty() ? Json() : Json(histogram);
  json["sketch"] = sketch_json(index, row);
  json["inputs"] = inputs_json(dump, row);
  json["outputs"] = outputs_json(dump, row);
  json["consumers"] = consumers_json(dump, row);
  json["source_lines"] = dump.source_lines(op);
  json["pair"] = nullptr;
  return json;
}

Result<size_t> parse_row(const ServedDump& dump, const std::string& text) {
  uint64_t row = 0;
  if (!parse_unsigned(text, row)) return invalid_argument(concat("record ", quote(text), ": not a number"));
  if (row >= dump.rows().size()) return not_found(concat("record ", row, ": the dump has ", dump.rows().size(), ", numbered from 0"));
  return static_cast<size_t>(row);
}

Result<Answer> records_answer(const ServedDump& dump, const WebRequest& request) {
  TENSORTAP_RETURN_IF_ERROR(
      request.check_names({"dump", "where", "op", "type", "module", "step", "last", "slot", "sort", "from", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const WebRequest::Page page, request.page());
  constexpr std::array kNarrows = {"where", "op", "type", "module", "step", "last", "slot", "sort"};
  if (std::ranges::none_of(kNarrows, [&](const char* name) { return request.has(name); })) return json_answer(all_records_json(dump, page));
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<uint32_t> rows, choose_rows(dump, request));
  Json list = list_json(page.from, page.limit, rows.size());
  const size_t begin = std::min(page.from, rows.size());
  for (const uint32_t row : std::span(rows).subspan(begin, std::min(page.limit, rows.size() - begin))) {
    list["items"].push_back(listed_record_json(dump.index(), row));
  }
  return json_answer(list);
}

Result<Answer> record_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump"}));
  TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(asked.dump, number));
  Json json = whole_record_json(asked.dump, row);
  const Result<const ComparedPairs*> pairs = asked.comparison == nullptr ? not_found("one dump") : asked.comparison->pairs();
  if (pairs.ok()) {
    if (const auto pair = (*pairs)->pair_of(static_cast<uint32_t>(row), asked.is_b)) json["pair"] = *pair;
  }
  return json_answer(json);
}

}  // namespace tensortap
