#include "format/arrow/arrow_buffers.h"

#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace tensortap {
namespace {

constexpr uint64_t kMostOffset = std::numeric_limits<int32_t>::max();

template <class Row>
std::vector<std::byte> bits_of(size_t rows, const Row& is_set) {
  std::vector<std::byte> bits((rows + 7) / 8);
  for (size_t row = 0; row < rows; ++row) {
    if (is_set(row)) bits[row / 8] |= std::byte{1} << (row % 8);
  }
  return bits;
}

// The buffers of 32-bit offsets and of what they lead into. `part_of(row)` gives the elements of a row as bytes, `unit` bytes each.
template <class Part>
Status add_parts(size_t rows, size_t unit, const Part& part_of_row, ArrowBuffers& made) {
  std::vector<std::byte> offsets((rows + 1) * sizeof(int32_t));
  uint64_t end = 0;
  for (size_t row = 0; row < rows; ++row) end += part_of_row(row).size() / unit;
  if (end > kMostOffset) return exhausted("a batch of an Arrow table holds at most 2 GiB of text");
  std::vector<std::byte> content(static_cast<size_t>(end) * unit);
  size_t at = 0;
  for (size_t row = 0; row < rows; ++row) {
    const std::span<const std::byte> part = part_of_row(row);
    if (!part.empty()) std::memcpy(content.data() + at, part.data(), part.size());
    at += part.size();
    const auto offset = static_cast<int32_t>(at / unit);
    std::memcpy(offsets.data() + (row + 1) * sizeof(offset), &offset, sizeof(offset));
  }
  made.buffers.push_back(std::move(offsets));
  made.buffers.push_back(std::move(content));
  return {};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

Status add_texts(const Column& column, size_t rows, ArrowBuffers& made) {
  const std::span<const uint32_t> places = column.numbers<uint32_t>();
  const auto text = [&](size_t row) { return column.has(row) ? bytes_of(column.texts[places[row]]) : std::span<const std::byte>(); };
  return add_parts(rows, 1, text, made);
}

Status add_lists(const Column& column, size_t rows, ArrowBuffers& made) {
  const std::span<const uint32_t> places = column.numbers<uint32_t>();
  const auto list = [&](size_t row) { return std::as_bytes(std::span(column.lists[places[row]])); };
  TENSORTAP_RETURN_IF_ERROR(add_parts(rows, sizeof(int64_t), list, made));
  ArrowBuffers child;
  child.buffers.resize(1);
  child.length = made.buffers.back().size() / sizeof(int64_t);
  child.buffers.push_back(std::move(made.buffers.back()));
  made.buffers.pop_back();
  made.children.push_back(std::move(child));
  return {};
}

}  // namespace

std::string_view arrow_format(ColumnType type) {
  switch (type) {
    case ColumnType::kFlag:
      return "b";
    case ColumnType::kUInt8:
      return "C";
    case ColumnType::kUInt16:
      return "S";
    case ColumnType::kUInt32:
      return "I";
    case ColumnType::kInt32:
      return "i";
    case ColumnType::kUInt64:
      return "L";
    case ColumnType::kInt64:
      return "l";
    case ColumnType::kDouble:
      return "g";
    case ColumnType::kText:
      return "u";
    case ColumnType::kBytes:
      return "z";
    default:
      return "+l";
  }
}

Result<ArrowBuffers> arrow_buffers(ColumnType type, Column column) {
  const size_t rows = column.values.size() / column_width(type);
  ArrowBuffers made;
  made.length = rows;
  made.nulls = column.nulls();
  made.buffers.emplace_back();
  if (made.nulls > 0) made.buffers.front() = bits_of(rows, [&column](size_t row) { return column.has(row); });
  switch (type) {
    case ColumnType::kFlag:
      made.buffers.push_back(bits_of(rows, [&column](size_t row) { return column.values[row] != std::byte{0}; }));
      break;
    case ColumnType::kText:
      TENSORTAP_RETURN_IF_ERROR(add_texts(column, rows, made));
      break;
    case ColumnType::kBytes:
      TENSORTAP_RETURN_IF_ERROR(add_parts(
          rows, 1, [&column](size_t row) { return bytes_of(column.bytes_of(row)); }, made));
      break;
    case ColumnType::kSizes:
      TENSORTAP_RETURN_IF_ERROR(add_lists(column, rows, made));
      break;
    default:
      made.buffers.push_back(std::move(column.values));
  }
  return made;
}

}  // namespace tensortap
