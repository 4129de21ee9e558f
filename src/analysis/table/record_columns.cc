#include "table/record_columns.h"

#include <algorithm>

#include "base/spans.h"
#include "table/column_makers.h"

namespace tensortap {
namespace {

constexpr size_t kBlockRows = 1024;  // half a megabyte of records

}  // namespace

RecordColumn slot_column() {
  return text_column(
      "slot", [](const RecordRow& row) { return (uint64_t{row.slot_index} << 8) | row.slot_kind; },
      [](uint64_t key) { return slot_name(static_cast<SlotKind>(key & 0xff), static_cast<uint32_t>(key >> 8)); });
}

RecordColumn dtype_column() {
  // A hostile number of a type is that of no type, as in RecordRow::desc().
  return text_column(
      "dtype", [](const RecordRow& row) { return uint64_t{row.dtype}; },
      [](uint64_t key) {
        RecordRow row;
        row.dtype = static_cast<uint8_t>(key);
        return std::string(dtype_name(row.desc().dtype));
      });
}

RecordColumn phase_column() {
  return text_column(
      "phase", [](const RecordRow& row) { return uint64_t{row.phase}; },
      [](uint64_t key) { return std::string(phase_name(static_cast<Phase>(key))); });
}

RecordColumn model_phase_column() {
  return text_column(
      "model_phase", [](const RecordRow& row) { return uint64_t{row.model_phase}; },
      [](uint64_t key) { return std::string(model_phase_name(static_cast<ModelPhase>(key))); });
}

std::vector<Column> make_columns(std::span<const RecordColumn> columns, const RecordBlock& block) {
  std::vector<Column> made(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) made[i].values.reserve(block.rows.size() * column_width(columns[i].spec.type));
  for (size_t first = 0; first < block.rows.size(); first += kBlockRows) {
    const RecordBlock part{block.dump, first_of(after(block.rows, first), kBlockRows)};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].add(part, made[i]);
  }
  return made;
}

}  // namespace tensortap
