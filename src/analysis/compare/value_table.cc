#include "compare/value_table.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "compare/file_contents.h"
#include "query/op_facts.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr uint32_t kMostCalls = 256;  // of one op in one step; more are one value

uint64_t slot_key(OpId op, uint32_t slot) { return uint64_t{op} << 32U | slot; }

std::string value_key(const std::string& graph, const std::string& name) { return graph + '\0' + name; }

// Whether both show the same elements of one content in the same order.
bool looks_alike(const RecordRow& a, const RecordRow& b) {
  return a.view == b.view && a.dtype == b.dtype && a.desc().shape == b.desc().shape;
}

}  // namespace

ValueTable::ValueTable(const DumpIndex& dump, std::optional<std::set<int64_t>> only)
    : dump_(dump), only_(std::move(only)), nesting_(dump), contents_(file_contents(dump)), value_of_row_(dump.rows().size(), kNoValue) {
  const std::span<const RecordRow> rows = dump.rows();
  const OpFactsTable facts(dump);
  learn_calls();
  for (const size_t place : rows_in_time_order(dump)) {
    const auto number = static_cast<uint32_t>(place);
    const RecordRow& row = rows[number];
    if (row.op >= dump.ops().size() || !includes(row) || (row.flags & (kRecordFailedOp | kRecordUnwritten)) != 0 ||
        facts.is_overwritten(row))
      continue;
    const Content content = content_of(number);
    if (is_input(row)) {
      add_input(number);
      continue;
    }
    if (row.slot_kind != static_cast<uint8_t>(SlotKind::kOutput) || row.moment != static_cast<uint8_t>(Moment::kAfter)) continue;
    if (content.storage != 0) made_rows_[content].push_back(number);
    knows_memory_ |= content.storage != 0;
    const OpInfo& op = dump.ops()[row.op];
    add(number, is_pseudo_op(op) || is_constant_op(op));
  }
  if (!knows_memory_) learn_graph();
}

ValueTable::Content ValueTable::content_of(uint32_t number) const {
  const RecordRow& row = dump_.rows()[number];
  return contents_.empty() ? Content{row.storage, row.version} : Content{contents_[number], 0};
}

// Finds out whether calls are values, and for which ops.
void ValueTable::learn_calls() {
  const std::span<const OpInfo> ops = dump_.ops();
  const auto is_output = [&](const RecordRow& row) {
    return row.op < ops.size() && row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput) && !is_pseudo_op(ops[row.op]);
  };
  const auto first = std::ranges::find_if(dump_.rows(), is_output);
  is_of_calls_ = first != dump_.rows().end() && ops[first->op].domain == "aten";
  if (!is_of_calls_) return;
  has_many_calls_.assign(ops.size(), false);
  for (const RecordRow& row : dump_.rows()) {
    if (row.op < ops.size() && row.call >= kMostCalls) has_many_calls_[row.op] = true;
  }
}

uint32_t ValueTable::call_of(const RecordRow& row) const { return is_of_calls_ && !has_many_calls_[row.op] ? row.call : kAnyCall; }

void ValueTable::add(uint32_t number, bool given) {
  const RecordRow& row = dump_.rows()[number];
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  const uint32_t call = call_of(row);
  std::vector<ValueId>& known = by_slot_[slot_key(row.op, row.slot_index) | (kind == SlotKind::kInput ? uint64_t{1} << 31U : 0)];
  const auto found =
      std::ranges::find_if(known, [&](ValueId id) { return values_[id].element == row.element && values_[id].call == call; });
  ValueId id = kNoValue;
  if (found == known.end()) {
    id = static_cast<ValueId>(values_.size());
    values_.push_back({row.op, row.slot_index, kind, row.element, call, given, false, {}});
    known.push_back(id);
    made_ += given ? 0 : 1;
  } else {
    id = *found;
  }
  values_[id].rows.push_back(number);
  value_of_row_[number] = id;
}

void ValueTable::add_input(uint32_t number) {
  const Content content = content_of(number);
  if (content.storage == 0 && contents_.empty()) return;
  knows_memory_ = true;
  read_rows_[RecordLookup::execution_of(dump_.rows()[number])].push_back(number);
  if (content.storage == 0 || made_rows_.contains(content) || !given_rows_.try_emplace(content, number).second) return;
  const bool passed = passing_call(number) != CallNesting::kNoCall;
  add(number, !passed);
  values_[value_of_row_[number]].passed = passed;
}

bool ValueTable::reads(uint32_t call, const Content& content) const {
  return std::ranges::any_of(nesting_.rows(call), [&](uint32_t row) { return is_input(dump_.rows()[row]) && content_of(row) == content; });
}

// The call of the module that made a value for a module inside of it: no recorded op made the value, and it is not an argument of the outer
// module. kNoCall where no such module is known.
uint32_t ValueTable::passing_call(uint32_t number) const {
  if (!nesting_.has_modules_alone() || (dump_.rows()[number].value_flags & kValueParameter) != 0) return CallNesting::kNoCall;
  const Content content = content_of(number);
  for (uint32_t call = nesting_.around(nesting_.call_of(number)); call != CallNesting::kNoCall; call = nesting_.around(call)) {
    if (!reads(call, content)) return call;
  }
  return CallNesting::kNoCall;
}

bool ValueTable::shows_input(uint32_t number) const {
  const RecordRow& row = dump_.rows()[number];
  const auto read = row.storage == 0 ? read_rows_.end() : read_rows_.find(RecordLookup::execution_of(row));
  return read != read_rows_.end() &&
         std::ranges::any_of(read->second, [&](uint32_t input) { return content_of(input) == content_of(number); });
}

OpId ValueTable::passed_by(uint32_t row) const {
  const ValueId id = value_of_row_[row];
  return id == kNoValue || !values_[id].passed ? kNoOp : dump_.rows()[nesting_.rows(passing_call(row)).front()].op;
}

// The last record of a call inside of that of a row that made the content of the row; kNoRow where there is none.
uint32_t ValueTable::made_inside(uint32_t number) const {
  const auto made = made_rows_.find(content_of(number));
  if (made == made_rows_.end()) return kNoRow;
  const std::span<const RecordRow> rows = dump_.rows();
  const uint32_t call = nesting_.call_of(number);
  const uint64_t begin = rows[nesting_.rows(call).front()].sequence;
  for (const uint32_t other : std::views::reverse(made->second)) {
    if (rows[other].sequence < begin) break;
    if (rows[other].sequence < rows[number].sequence && nesting_.call_of(other) != call) return other;
  }
  return kNoRow;
}

// The inputs of a row that a module returned and that nothing inside of it made, or that it passed to a module inside of it.
std::vector<uint32_t> ValueTable::nested_inputs(uint32_t number) const {
  const bool returned = is_output(dump_.rows()[number]);
  const uint32_t call = returned ? nesting_.call_of(number) : passing_call(number);
  std::vector<uint32_t> inputs;
  for (const uint32_t row : nesting_.rows(call)) {
    if (!is_input(dump_.rows()[row])) continue;
    if (returned && content_of(row) == content_of(number)) return {maker_of(row)};
    inputs.push_back(maker_of(row));
  }
  const auto is_before = [&](uint32_t row) { return dump_.rows()[row].sequence < dump_.rows()[number].sequence; };
  for (const uint32_t one : nesting_.inside(call)) {
    for (const uint32_t row : nesting_.rows(one)) {
      const ValueId id = value_of_row_[row];
      if (id != kNoValue && !values_[id].given && is_before(row)) inputs.push_back(row);
    }
  }
  return inputs;
}

void ValueTable::learn_graph() {
  const std::span<const OpInfo> ops = dump_.ops();
  for (OpId id = 0; id < ops.size(); ++id) {
    if (ops[id].parent < ops.size()) children_[ops[id].parent].push_back(id);
    for (uint32_t slot = 0; slot < ops[id].outputs.size(); ++slot) {
      if (!ops[id].outputs[slot].empty()) makers_.try_emplace(value_key(ops[id].graph, ops[id].outputs[slot]), id, slot);
    }
  }
}

const std::string& ValueTable::name(ValueId id) const {
  static const std::string kNone;
  const Value& value = values_[id];
  const OpInfo& op = dump_.ops()[value.op];
  if (value.kind == SlotKind::kInput) return value.slot < op.inputs.size() ? op.inputs[value.slot].name : kNone;
  return value.slot < op.outputs.size() ? op.outputs[value.slot] : kNone;
}

uint32_t ValueTable::maker_of(uint32_t input) const {
  const std::span<const RecordRow> rows = dump_.rows();
  const RecordRow& row = rows[input];
  if (const auto made = made_rows_.find(content_of(input)); made != made_rows_.end()) {
    const auto before = [&](uint32_t other) { return rows[other].sequence < row.sequence; };
    const auto end = std::ranges::partition_point(made->second, before);
    for (auto at = end; at != made->second.begin();) {
      if (looks_alike(rows[*--at], row)) return *at;
    }
    if (end != made->second.begin()) return made->second.front();
  }
  const auto given = given_rows_.find(content_of(input));
  return given == given_rows_.end() ? kNoRow : given->second;
}

std::vector<uint32_t> ValueTable::memory_inputs(uint32_t number) const {
  const RecordRow& row = dump_.rows()[number];
  if (!nesting_.empty()) {
    const uint32_t inside = is_output(row) ? made_inside(number) : kNoRow;
    if (inside != kNoRow) return {inside};
    if (!is_output(row) || is_module(dump_.ops()[row.op])) return nested_inputs(number);
  }
  std::vector<uint32_t> inputs;
  const auto found = read_rows_.find(RecordLookup::execution_of(row));
  if (found == read_rows_.end()) return inputs;
  for (const uint32_t input : found->second) inputs.push_back(maker_of(input));
  return inputs;
}

void ValueTable::append_last_before(OpId op, uint32_t slot, uint32_t reader, std::vector<uint32_t>& inputs) const {
  const auto found = by_slot_.find(slot_key(op, slot));
  if (found == by_slot_.end()) {
    inputs.push_back(kNoRow);
    return;
  }
  const std::span<const RecordRow> rows = dump_.rows();
  const RecordRow& row = rows[reader];
  for (const ValueId id : found->second) {
    const std::vector<uint32_t>& all = values_[id].rows;
    const auto end = std::ranges::partition_point(all, [&](uint32_t other) { return rows[other].sequence < row.sequence; });
    uint32_t last = kNoRow;
    for (auto at = end; at != all.begin() && last == kNoRow;) {
      const RecordRow& candidate = rows[*--at];
      if (is_load(candidate) || (candidate.step == row.step && candidate.run == row.run)) last = *at;
      if (candidate.step < row.step) break;
    }
    // Weights are recorded once, some of them after their first use.
    if (last == kNoRow && is_load(rows[all.front()])) last = all.front();
    inputs.push_back(last);
  }
}

std::pair<OpId, uint32_t> ValueTable::maker_in_graph(const OpInfo& op, const OpInput& input) const {
  if (input.producer < dump_.ops().size()) return {input.producer, input.producer_slot};
  auto found = makers_.find(value_key(op.graph, input.name));
  if (found == makers_.end()) found = makers_.find(value_key("", input.name));
  return found == makers_.end() ? std::pair(kNoOp, 0U) : found->second;
}

void ValueTable::append_producer(const OpInfo& op, const OpInput& input, uint32_t reader, std::vector<uint32_t>& inputs) const {
  if (input.name.empty() && input.producer == kNoOp) return;
  const auto [producer, slot] = maker_in_graph(op, input);
  if (producer == kNoOp) {
    inputs.push_back(kNoRow);
  } else {
    append_last_before(producer, slot, reader, inputs);
  }
}

bool ValueTable::misses_inputs(uint32_t row) const {
  const ValueId id = value_of_row_[row];
  if (id == kNoValue || values_[id].given) return false;
  if (knows_memory_) {
    const std::vector<uint32_t> read = memory_inputs(row);
    return std::ranges::find(read, kNoRow) != read.end();
  }
  const OpInfo& op = dump_.ops()[values_[id].op];
  return std::ranges::any_of(op.inputs, [&](const OpInput& input) {
    const OpId maker = maker_in_graph(op, input).first;
    if (maker == kNoOp || is_pseudo_op(dump_.ops()[maker])) return false;
    std::vector<uint32_t> read;
    append_producer(op, input, row, read);
    return std::ranges::find(read, kNoRow) != read.end();
  });
}

std::vector<uint32_t> ValueTable::inputs_of(uint32_t row) const {
  const ValueId id = value_of_row_[row];
  if (id == kNoValue || values_[id].given) return {};
  if (knows_memory_) return memory_inputs(row);
  std::vector<uint32_t> inputs;
  const OpInfo& op = dump_.ops()[values_[id].op];
  for (const OpInput& input : op.inputs) append_producer(op, input, row, inputs);
  // An op with a graph returns values that were made in the graph.
  const auto children = children_.find(values_[id].op);
  if (children == children_.end()) return inputs;
  for (const OpId child : children->second) {
    for (uint32_t slot = 0; slot < dump_.ops()[child].outputs.size(); ++slot) {
      if (by_slot_.contains(slot_key(child, slot))) append_last_before(child, slot, row, inputs);
    }
  }
  return inputs;
}

}  // namespace tensortap
