#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/utf8.h"
#include "query/row_columns.h"
#include "table/column_makers.h"
#include "table/record_columns.h"

namespace tensortap {
namespace {

// Fields of records.npy that are not separate values, or that other columns contain.
constexpr std::array<std::string_view, 19> kNotShown = {
    "op",       "shape", "dims_count", "digest",      "digest_kind", "strides",     "strided",   "element_order", "sketch", "value_flags",
    "reserved", "valid", "committed",  "data_header", "min_integer", "max_integer", "slot_kind", "slot_index",    "spare"};

template <class T>
constexpr ColumnType type_of() {
  if constexpr (std::is_same_v<T, uint8_t>) return ColumnType::kUInt8;
  if constexpr (std::is_same_v<T, uint16_t>) return ColumnType::kUInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return ColumnType::kUInt32;
  if constexpr (std::is_same_v<T, int32_t>) return ColumnType::kInt32;
  if constexpr (std::is_same_v<T, uint64_t>) return ColumnType::kUInt64;
  if constexpr (std::is_same_v<T, int64_t>) return ColumnType::kInt64;
  return ColumnType::kDouble;
}

// `bits`: what a record needs to have measured. Where every record has, numbers keep their type.
template <class T>
RecordColumn number_column(const RecordField& field, uint32_t bits, bool measured_everywhere) {
  const size_t offset = field.offset;
  if (measured_everywhere) {
    return {{std::string(field.name), type_of<T>()}, [offset](const RecordBlock& block, Column& column) {
              add_numbers(
                  block, column, [offset](const RecordRow& row) { return field_at<T>(row, offset); }, T{});
            }};
  }
  return {{std::string(field.name), ColumnType::kDouble}, [offset, bits](const RecordBlock& block, Column& column) {
            const auto value_of = [offset, bits](const RecordRow& row) {
              const bool measured = (row.stats.valid & bits) == bits;
              return measured ? static_cast<double>(field_at<T>(row, offset)) : std::numeric_limits<double>::quiet_NaN();
            };
            add_numbers(block, column, value_of, double{});
          }};
}

RecordColumn frame_column(const RecordField& field, uint32_t bits, bool measured_everywhere) {
  const std::string_view type = field.numpy_type;
  if (type == "|u1") return number_column<uint8_t>(field, bits, measured_everywhere);
  if (type == "<u2") return number_column<uint16_t>(field, bits, measured_everywhere);
  if (type == "<u4") return number_column<uint32_t>(field, bits, measured_everywhere);
  if (type == "<i4") return number_column<int32_t>(field, bits, measured_everywhere);
  if (type == "<u8") return number_column<uint64_t>(field, bits, measured_everywhere);
  if (type == "<i8") return number_column<int64_t>(field, bits, measured_everywhere);
  return number_column<double>(field, bits, measured_everywhere);
}

// Texts of the op; rows that name none have that of an empty op.
template <auto Member>
RecordColumn op_column(std::string name, const DumpIndex& dump) {
  const std::span<const OpInfo> ops = dump.ops();
  return text_column(
      std::move(name), [ops](const RecordRow& row) { return uint64_t{row.op < ops.size() ? row.op : static_cast<uint32_t>(ops.size())}; },
      [ops](uint64_t op) { return op < ops.size() ? replace_broken_utf8(ops[static_cast<size_t>(op)].*Member) : std::string(); });
}

// Equal shapes share one list.
void add_shapes(ShapePlaces& places, const RecordBlock& block, Column& column) {
  if (column.lists.empty()) places.clear();
  const std::span<uint32_t> values = column.extend<uint32_t>(block.rows.size());
  const std::span<const RecordRow> rows = block.dump.rows();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = places.place_of(rows[block.rows[i]], [&column](const Shape& shape) {
      column.lists.emplace_back(shape.dims().begin(), shape.dims().end());
      return static_cast<uint32_t>(column.lists.size() - 1);
    });
  }
}

}  // namespace

std::vector<RecordColumn> frame_columns(const DumpIndex& dump) {
  uint32_t measured = ~uint32_t{0};  // by every record
  for (const RecordRow& row : dump.rows()) measured &= row.stats.valid;
  std::vector<RecordColumn> columns;
  columns.push_back(op_column<&OpInfo::name>("op", dump));
  columns.push_back(op_column<&OpInfo::type>("type", dump));
  columns.push_back(slot_column());
  for (const RecordField& field : record_fields()) {
    if (std::ranges::find(kNotShown, field.name) != kNotShown.end()) continue;
    if (field.name == "dtype") {
      columns.push_back(dtype_column());
    } else if (field.name == "phase") {
      columns.push_back(phase_column());
    } else if (field.name == "model_phase") {
      columns.push_back(model_phase_column());
    } else {
      const RowColumn* known = find_column(field.name);
      const uint32_t bits = known == nullptr ? 0 : known->stats;
      columns.push_back(frame_column(field, bits, (measured & bits) == bits));
    }
  }
  columns.push_back({{"shape", ColumnType::kSizes},
                     [places = ShapePlaces()](const RecordBlock& block, Column& column) mutable { add_shapes(places, block, column); }});
  return columns;
}

}  // namespace tensortap
