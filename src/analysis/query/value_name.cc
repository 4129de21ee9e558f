#include "query/value_name.h"

#include <algorithm>

namespace tensortap {
namespace {

std::string name_of_slot(const OpInfo& op, const RecordRow& row) {
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  if (kind == SlotKind::kOutput && row.slot_index < op.outputs.size()) return op.outputs[row.slot_index];
  if (kind == SlotKind::kInput && row.slot_index < op.inputs.size()) return op.inputs[row.slot_index].name;
  return {};
}

}  // namespace

std::string value_name(const DumpIndex& dump, const RecordRow& row) {
  if ((row.value_flags & kValueOtherName) == 0) return name_of_slot(op_of(dump, row), row);
  const auto names_it = [&row](const RecordRow& other) { return other.storage == row.storage && (other.value_flags & kValueOwnName) != 0; };
  const auto named = row.storage == 0 ? dump.rows().end() : std::ranges::find_if(dump.rows(), names_it);
  return named == dump.rows().end() ? std::string() : name_of_slot(op_of(dump, *named), *named);
}

}  // namespace tensortap
