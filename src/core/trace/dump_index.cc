#include "trace/dump_index.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kNamesInMessage = 5;

struct Wanted {
  OpId op = kNoOp;
  SlotKind kind = SlotKind::kOutput;
  uint32_t slot = 0;
  std::optional<int64_t> step;  // nothing = any
  std::optional<uint32_t> call;
  int64_t element = -1;
};

bool matches(const RecordRow& row, const Wanted& wanted) {
  return row.op == wanted.op && row.slot_kind == static_cast<uint8_t>(wanted.kind) && row.slot_index == wanted.slot &&
         row.element == wanted.element && (!wanted.step || row.step == *wanted.step) && (!wanted.call || row.call == *wanted.call);
}

// The first match; one made after the op ran goes before one made before it.
std::optional<size_t> find_row(const DumpIndex& dump, const Wanted& wanted) {
  const std::span<const RecordRow> rows = dump.rows();
  std::optional<size_t> before;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!matches(rows[i], wanted)) continue;
    if (rows[i].moment == static_cast<uint8_t>(Moment::kAfter)) return i;
    if (!before) before = i;
  }
  return before;
}

OpId find_op(const DumpIndex& dump, std::string_view name) {
  const std::span<const OpInfo> ops = dump.ops();
  const auto found = std::ranges::find(ops, name, &OpInfo::name);
  return found == ops.end() ? kNoOp : static_cast<OpId>(found - ops.begin());
}

OpId find_weight(const DumpIndex& dump, std::string_view name) {
  const std::span<const OpInfo> ops = dump.ops();
  const auto found = std::ranges::find_if(ops, [name](const OpInfo& op) {
    return op.type == kInitializerType && (op.name == name || (!op.outputs.empty() && op.outputs[0] == name));
  });
  return found == ops.end() ? kNoOp : static_cast<OpId>(found - ops.begin());
}

Status unknown_name(const DumpIndex& dump, std::string_view what, std::string_view name, bool weights) {
  std::vector<std::string> names;
  for (const OpInfo& op : dump.ops()) {
    if (!op.name.empty() && (!weights || op.type == kInitializerType)) names.push_back(op.name);
  }
  return not_found(concat("no ", what, " called ", quote(name), " in this dump.", did_you_mean(name, names)));
}

Status unknown_record(const DumpIndex& dump, OpId op, const RecordKey& key) {
  const std::string& name = dump.ops()[op].name;
  RecordRow row;
  row.slot_kind = static_cast<uint8_t>(key.slot_kind);
  row.slot_index = static_cast<uint16_t>(key.slot_index);
  row.step = key.step;
  row.call = key.call;
  row.element = key.element;
  std::string message = concat("no record ", quote(record_name(row, name)), " in this dump; ");
  size_t count = 0;
  for (const RecordRow& other : dump.rows()) {
    if (other.op != op) continue;
    if (count < kNamesInMessage) message += concat(count == 0 ? "the op has " : ", ", quote(record_name(other, name)));
    ++count;
  }
  if (count == 0) return not_found(message + "nothing of this op was kept.");
  if (count > kNamesInMessage) message += concat(" and ", count - kNamesInMessage, " more");
  return not_found(message + ".");
}

// An input that its producer recorded as an output. Weights are recorded once at load, whatever the step; a value from outside a nested
// graph has the call number of the graph that made it.
std::optional<size_t> find_produced(const DumpIndex& dump, const OpInfo& op, const RecordKey& key) {
  if (key.slot_index >= op.inputs.size()) return {};
  const OpInput& input = op.inputs[key.slot_index];
  if (input.producer >= dump.ops().size()) return {};
  const OpInfo& producer = dump.ops()[input.producer];
  Wanted wanted{input.producer, SlotKind::kOutput, input.producer_slot, key.step, key.call, key.element};
  if (const auto row = find_row(dump, wanted)) return row;
  if (producer.type != kInitializerType && producer.graph == op.graph) return {};
  wanted.call.reset();
  if (producer.type == kInitializerType) wanted.step.reset();
  return find_row(dump, wanted);
}

}  // namespace

const OpInfo& op_of(const DumpIndex& dump, const RecordRow& row) {
  static const OpInfo kNone;
  return row.op < dump.ops().size() ? dump.ops()[row.op] : kNone;
}

Result<size_t> find_record(const DumpIndex& dump, const RecordKey& key) {
  if (!key.weight.empty()) {
    const OpId weight = find_weight(dump, key.weight);
    if (weight == kNoOp) return unknown_name(dump, "weight", key.weight, true);
    if (const auto row = find_row(dump, {weight, SlotKind::kOutput, 0, {}, {}, -1})) return *row;
    return not_found(concat("the weight ", quote(key.weight), " is known, but its values were not captured."));
  }
  const OpId op = find_op(dump, key.op);
  if (op == kNoOp) return unknown_name(dump, "op", key.op, false);
  if (const auto row = find_row(dump, {op, key.slot_kind, key.slot_index, key.step, key.call, key.element})) return *row;
  if (key.slot_kind == SlotKind::kInput) {
    if (const auto row = find_produced(dump, dump.ops()[op], key)) return *row;
  }
  return unknown_record(dump, op, key);
}

Json manifest_json(const DumpIndex& dump) {
  Result<Json> parsed = parse_json(dump.manifest(), "the manifest");
  return parsed.ok() && parsed->is_object() ? *std::move(parsed) : Json::object();
}

}  // namespace tensortap
