#include "table/op_tables.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace tensortap {
namespace {

template <class T, class Rows, class Value>
Column numbers_of(const Rows& rows, const Value& value_of) {
  Column column;
  const std::span<T> values = column.extend<T>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) values[i] = static_cast<T>(value_of(rows[i]));
  return column;
}

template <class Rows, class Text>
Column texts_of(const Rows& rows, const Text& text_of) {
  Column column;
  const std::span<uint32_t> values = column.extend<uint32_t>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) values[i] = column.text_place(replace_broken_utf8(text_of(rows[i])));
  return column;
}

// Rows for which `has` does not hold have no value.
template <class Rows, class Has>
Column only_where(const Rows& rows, Column column, const Has& has) {
  for (const auto& row : rows) column.present.push_back(has(row) ? 1 : 0);
  return column;
}

std::string inputs_text(const OpInfo& op) {
  Json inputs = Json::array();
  for (const OpInput& input : op.inputs) {
    inputs.push_back(
        {{"name", input.name}, {"op", input.producer == kNoOp ? Json(nullptr) : Json(input.producer)}, {"slot", input.producer_slot}});
  }
  return to_json_text(inputs);
}

std::string originals_text(const OpInfo& op) {
  Json originals = Json::array();
  for (const OriginalNode& node : op.originals) originals.push_back({{"name", node.name}, {"type", node.type}});
  return to_json_text(originals);
}

}  // namespace

std::vector<ColumnSpec> job_op_specs() {
  return {{"job_op", ColumnType::kUInt32},    {"name", ColumnType::kText},  {"type", ColumnType::kText},
          {"module", ColumnType::kText},      {"graph", ColumnType::kText}, {"dumps", ColumnType::kUInt32},
          {"first_dump", ColumnType::kUInt32}};
}

std::vector<Column> job_op_columns(std::span<const JobOps::Op> ops) {
  std::vector<Column> columns;
  uint32_t next = 0;
  columns.push_back(numbers_of<uint32_t>(ops, [&next](const JobOps::Op&) { return next++; }));
  columns.push_back(texts_of(ops, [](const JobOps::Op& op) { return op.name; }));
  columns.push_back(texts_of(ops, [](const JobOps::Op& op) { return op.type; }));
  columns.push_back(texts_of(ops, [](const JobOps::Op& op) { return op.module; }));
  columns.push_back(texts_of(ops, [](const JobOps::Op& op) { return op.graph; }));
  columns.push_back(numbers_of<uint32_t>(ops, [](const JobOps::Op& op) { return op.dumps; }));
  columns.push_back(numbers_of<uint32_t>(ops, [](const JobOps::Op& op) { return op.first_dump; }));
  return columns;
}

std::vector<ColumnSpec> op_specs() {
  return {{"job_op", ColumnType::kUInt32}, {"op", ColumnType::kUInt32},           {"dump", ColumnType::kText},
          {"name", ColumnType::kText},     {"type", ColumnType::kText},           {"domain", ColumnType::kText},
          {"module", ColumnType::kText},   {"graph", ColumnType::kText},          {"source", ColumnType::kText},
          {"level", ColumnType::kText},    {"parent", ColumnType::kUInt32, true}, {"inserted_by_runtime", ColumnType::kFlag},
          {"inputs", ColumnType::kText},   {"originals", ColumnType::kText},      {"attributes", ColumnType::kText}};
}

std::vector<Column> op_columns(const DumpIndex& dump, std::span<const uint32_t> job_ops, const std::string& dump_name) {
  const std::span<const OpInfo> ops = dump.ops();
  std::vector<uint32_t> order(ops.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [job_ops](uint32_t op) { return job_ops[op]; });
  const auto text = [&](auto text_of) { return texts_of(order, [&](uint32_t op) { return std::string(text_of(ops[op])); }); };
  std::vector<Column> columns;
  columns.push_back(numbers_of<uint32_t>(order, [job_ops](uint32_t op) { return job_ops[op]; }));
  columns.push_back(numbers_of<uint32_t>(order, [](uint32_t op) { return op; }));
  columns.push_back(text([&dump_name](const OpInfo&) { return dump_name; }));
  columns.push_back(text([](const OpInfo& op) { return op.name; }));
  columns.push_back(text([](const OpInfo& op) { return op.type; }));
  columns.push_back(text([](const OpInfo& op) { return op.domain; }));
  columns.push_back(text([](const OpInfo& op) { return op.module; }));
  columns.push_back(text([](const OpInfo& op) { return op.graph; }));
  columns.push_back(text([](const OpInfo& op) { return op.source_location; }));
  columns.push_back(text([](const OpInfo& op) { return level_name(op.level); }));
  columns.push_back(only_where(order, numbers_of<uint32_t>(order, [ops](uint32_t op) { return ops[op].parent; }),
                               [ops](uint32_t op) { return ops[op].parent != kNoOp; }));
  columns.push_back(numbers_of<uint8_t>(order, [ops](uint32_t op) { return ops[op].inserted_by_runtime ? 1 : 0; }));
  columns.push_back(text(inputs_text));
  columns.push_back(text(originals_text));
  columns.push_back(text([](const OpInfo& op) { return op.attributes; }));
  return columns;
}

}  // namespace tensortap
