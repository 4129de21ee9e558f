#include "query/record_lookup.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "trace/body_inputs.h"

namespace tensortap {
namespace {

uint64_t slot_key(OpId op, SlotKind kind, uint32_t slot) {
  return uint64_t{op} << 32 | uint64_t{static_cast<uint8_t>(kind)} << 24 | (slot & 0xffffffU);
}

// A value's name is its own within one graph.
std::string value_key(const std::string& graph, const std::string& value) { return graph + '\0' + value; }

bool is_weight(const OpInfo& op) { return op.type == kInitializerType; }

// As far as its counts say.
bool holds_nonfinite(const RecordRow& row) { return row.stats.nan + row.stats.pos_inf + row.stats.neg_inf > 0; }

}  // namespace

std::vector<size_t> rows_in_time_order(const DumpIndex& dump) {
  const std::span<const RecordRow> rows = dump.rows();
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto sequence = [&](size_t row) { return rows[row].sequence; };
  if (!std::ranges::is_sorted(order, {}, sequence)) std::ranges::stable_sort(order, {}, sequence);
  return order;
}

size_t RecordLookup::Hash::operator()(const Execution& key) const {
  size_t hash = std::hash<uint64_t>()(uint64_t{key.op} << 32 | key.call);
  for (const uint64_t word : {static_cast<uint64_t>(key.step), key.run, uint64_t{key.phase}}) hash = hash * 0x9e3779b97f4a7c15U + word;
  return hash ^ hash >> 29;
}

size_t RecordLookup::Hash::operator()(const Content& key) const {
  const size_t hash = key.storage * 0x9e3779b97f4a7c15U + key.version;
  return hash ^ hash >> 29;
}

void RecordLookup::add_memory(size_t number) {
  const RecordRow& row = dump_.rows()[number];
  const bool is_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  if (is_input) {
    has_inputs_ = true;
    if (!facts_.is_overwritten(row)) inputs_[execution_of(row)].push_back(number);
  }
  if (row.storage == 0) return;
  knows_memory_ = true;
  if (is_input) return;
  // A view has the content of what it shows.
  const bool made = writers_.try_emplace({row.storage, row.version}, number).second;
  if (made && holds_nonfinite(row)) nonfinite_[row.storage].push_back(number);
}

std::optional<size_t> RecordLookup::writer_of(size_t number) const {
  const std::span<const RecordRow> rows = dump_.rows();
  const RecordRow& row = rows[number];
  if (row.storage == 0) return std::nullopt;
  const auto before = [&](size_t other) { return rows[other].sequence < row.sequence; };
  const auto holds = [&](size_t other) {
    return (rows[other].stats.valid & kStatNonFinite) != kStatNonFinite || holds_nonfinite(rows[other]);
  };
  const auto found = writers_.find({row.storage, row.version});
  if (found != writers_.end() && before(found->second) && holds(found->second)) return found->second;
  const auto left = nonfinite_.find(row.storage);
  if (left == nonfinite_.end()) return std::nullopt;
  const auto end = std::ranges::partition_point(left->second, before);
  return end == left->second.begin() ? std::nullopt : std::optional(*std::prev(end));
}

void RecordLookup::add_in_code(size_t number) {
  const RecordRow& row = dump_.rows()[number];
  if ((row.value_flags & kValueInCompiledCode) == 0) return;
  if (!is_input(row)) made_in_code_[row.thread].push_back(number);
  if (is_input(row) && holds_nonfinite(row) && !facts_.is_overwritten(row)) read_in_code_[code_run_of(row)] = row.sequence;
}

std::optional<size_t> RecordLookup::carried_from(size_t number) const {
  const std::span<const RecordRow> rows = dump_.rows();
  const RecordRow& row = rows[number];
  const auto made = made_in_code_.find(row.thread);
  if (made == made_in_code_.end() || !is_input(row) || facts_.of(row).host_filled || writer_of(number)) return std::nullopt;
  const auto before = [&](size_t other) { return rows[other].sequence < row.sequence; };
  auto at = std::ranges::partition_point(made->second, before);
  if (at == made->second.begin()) return std::nullopt;
  const CodeRun code = code_run_of(rows[*std::prev(at)]);
  const bool in_code = (row.value_flags & kValueInCompiledCode) != 0;
  if (in_code ? code != code_run_of(row) : code.step != row.step || code.run != row.run) return std::nullopt;
  while (at != made->second.begin() && code_run_of(rows[*--at]) == code) {
    if (holds_nonfinite(rows[*at])) return *at;
  }
  return std::nullopt;
}

bool RecordLookup::is_carried_on(size_t number) const {
  const RecordRow& row = dump_.rows()[number];
  if ((row.value_flags & kValueInCompiledCode) == 0) return false;
  const auto read = read_in_code_.find(code_run_of(row));
  return read != read_in_code_.end() && read->second > row.sequence;
}

std::span<const size_t> RecordLookup::inputs_of(size_t row) const {
  const auto own = inputs_.find(execution_of(dump_.rows()[row]));
  return own == inputs_.end() ? std::span<const size_t>() : std::span<const size_t>(own->second);
}

std::vector<RecordLookup::Read> RecordLookup::own_reads(size_t number) const {
  const RecordRow& row = dump_.rows()[number];
  std::vector<Read> reads;
  if (row.slot_kind == static_cast<uint8_t>(SlotKind::kInput)) {
    reads.push_back({slot_name(SlotKind::kInput, row.slot_index), writer_of(number)});
    return reads;
  }
  for (const size_t input : inputs_of(number)) reads.push_back({slot_name(SlotKind::kInput, dump_.rows()[input].slot_index), input});
  if (reads.empty() && !has_inputs_) reads.push_back({"what it read", std::nullopt});
  return reads;
}

RecordLookup::RecordLookup(const DumpIndex& dump, const OpFactsTable& facts) : dump_(dump), facts_(facts) {
  const std::span<const RecordRow> rows = dump.rows();
  for (const size_t row : rows_in_time_order(dump)) {
    rows_[slot_key(rows[row].op, static_cast<SlotKind>(rows[row].slot_kind), rows[row].slot_index)].push_back(row);
    add_memory(row);
    add_in_code(row);
  }
  const std::span<const OpInfo> ops = dump.ops();
  for (OpId id = 0; id < ops.size(); ++id) {
    if (ops[id].parent < ops.size()) children_[ops[id].parent].push_back(id);
    for (uint32_t slot = 0; slot < ops[id].outputs.size(); ++slot) {
      if (!ops[id].outputs[slot].empty()) makers_.emplace(value_key(ops[id].graph, ops[id].outputs[slot]), std::pair(id, slot));
    }
  }
}

std::optional<size_t> RecordLookup::last_before(uint64_t key, const RecordRow& reader) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return std::nullopt;
  const std::span<const RecordRow> rows = dump_.rows();
  // Rows are in time order; the newest first, since a loop's body writes the same slot again and again.
  const auto begin = std::ranges::upper_bound(found->second, reader.sequence, {}, [&](size_t row) { return rows[row].sequence; });
  for (auto at = begin; at != found->second.begin();) {
    const RecordRow& row = rows[*--at];
    const bool load = row.phase == static_cast<uint8_t>(Phase::kLoad);
    if (load || (row.step == reader.step && row.run == reader.run)) return *at;
    if (row.step < reader.step && row.run == reader.run) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<size_t> RecordLookup::own_input(const RecordRow& reader, uint32_t slot) const {
  const auto found = rows_.find(slot_key(reader.op, SlotKind::kInput, slot));
  if (found == rows_.end()) return std::nullopt;
  const std::span<const RecordRow> rows = dump_.rows();
  std::optional<size_t> after;
  for (const size_t at : found->second) {
    const RecordRow& row = rows[at];
    if (row.step != reader.step || row.run != reader.run || row.call != reader.call) continue;
    if (row.moment == static_cast<uint8_t>(Moment::kBefore)) return at;
    if (!after) after = at;
  }
  return after;
}

std::optional<std::pair<OpId, uint32_t>> RecordLookup::producer_of(const OpInfo& op, const OpInput& input) const {
  if (input.producer < dump_.ops().size()) return std::pair(input.producer, input.producer_slot);
  auto found = makers_.find(value_key(op.graph, input.name));
  if (found == makers_.end()) found = makers_.find(value_key("", input.name));
  return found == makers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<size_t> RecordLookup::producer_row(const OpInfo& op, const OpInput& input, const RecordRow& reader) const {
  const auto made = producer_of(op, input);
  if (!made) return std::nullopt;
  const auto [producer, slot] = *made;
  // Weights are often recorded once, whatever step they are used in.
  if (is_weight(dump_.ops()[producer])) {
    const auto found = rows_.find(slot_key(producer, SlotKind::kOutput, slot));
    return found == rows_.end() ? std::nullopt : std::optional(found->second.front());
  }
  return last_before(slot_key(producer, SlotKind::kOutput, slot), reader);
}

// What the input of a body held: of all that it may hold, what was made last.
std::optional<size_t> RecordLookup::body_row(const OpInfo& op, uint32_t slot, const RecordRow& reader) const {
  std::optional<size_t> last;
  for (const BodyValue& value : body_values(op, slot)) {
    const auto made = makers_.find(value_key(value.graph, value.name));
    if (made == makers_.end()) continue;
    const auto row = producer_row(op, {value.name, made->second.first, made->second.second}, reader);
    if (row && (!last || dump_.rows()[*row].sequence > dump_.rows()[*last].sequence)) last = row;
  }
  return last;
}

// An input's record was made by one op; an output's may come from all that the op read.
std::vector<RecordLookup::Read> RecordLookup::reads_of(size_t row) const {
  const RecordRow& reader = dump_.rows()[row];
  if (knows_memory_) return own_reads(row);
  const OpInfo& op = op_of(dump_, reader);
  std::vector<Read> reads;
  if (reader.slot_kind == static_cast<uint8_t>(SlotKind::kInput)) {
    if (reader.slot_index >= op.inputs.size()) return reads;
    const OpInput& input = op.inputs[reader.slot_index];
    reads.push_back({input.name, producer_row(op, input, reader)});
    return reads;
  }
  for (uint32_t slot = 0; slot < op.inputs.size(); ++slot) {
    const OpInput& input = op.inputs[slot];
    if (input.name.empty() && input.producer == kNoOp) continue;
    std::optional<size_t> found = own_input(reader, slot);
    if (!found) found = producer_row(op, input, reader);
    if (!found) found = body_row(op, slot, reader);
    reads.push_back({input.name.empty() ? concat("in", slot) : input.name, found});
  }
  const auto children = children_.find(reader.op);
  if (children == children_.end()) return reads;
  const size_t outside = reads.size();
  for (const OpId child : children->second) {
    const OpInfo& inside = dump_.ops()[child];
    for (uint32_t slot = 0; slot < inside.outputs.size(); ++slot) {
      const std::optional<size_t> found = last_before(slot_key(child, SlotKind::kOutput, slot), reader);
      if (found) reads.push_back({inside.outputs[slot], found});
    }
  }
  if (reads.size() == outside) reads.push_back({concat("the body of ", op.name), std::nullopt});
  return reads;
}

}  // namespace tensortap
