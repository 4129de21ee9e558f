#include "format/parquet/column_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace tensortap::parquet {
namespace {

constexpr size_t kMostDictionary = 16384;  // different numbers
constexpr size_t kTrialRows = 1024;        // after which a dictionary has to have paid
constexpr size_t kLongestBound = 256;      // of texts in statistics

// A number as the 32 or 64 bits that a file stores.
uint64_t stored_bits(ColumnType type, const Column& column, size_t row) {
  switch (type) {
    case ColumnType::kUInt8:
      return column.numbers<uint8_t>()[row];
    case ColumnType::kUInt16:
      return column.numbers<uint16_t>()[row];
    case ColumnType::kUInt32:
    case ColumnType::kInt32:
      return column.numbers<uint32_t>()[row];
    default:
      return column.numbers<uint64_t>()[row];
  }
}

size_t stored_width(ColumnType type) { return column_width(type) == 8 ? 8 : 4; }

void append_bits(uint64_t bits, size_t width, std::string& bytes) {
  for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(bits >> (8 * i));
}

std::string_view text_of(ColumnType type, const Column& column, size_t row) {
  return type == ColumnType::kText ? std::string_view(column.texts[column.numbers<uint32_t>()[row]]) : column.bytes_of(row);
}

bool holds_texts(ColumnType type) { return type == ColumnType::kText || type == ColumnType::kBytes; }

// Numbers by an open table: a column has thousands of rows, and a map of the library would cost more than the file.
class Numbers {
 public:
  Numbers() : slots_(2 * kMostDictionary * 2, 0) {}
  // The place of a number; nothing when there are too many.
  std::optional<uint32_t> place(uint64_t number) {
    size_t slot = static_cast<size_t>(number * 0x9e3779b97f4a7c15U >> 49) % slots_.size();
    while (slots_[slot] != 0) {
      if (found_[slots_[slot] - 1] == number) return slots_[slot] - 1;
      slot = (slot + 1) % slots_.size();
    }
    if (found_.size() == kMostDictionary) return std::nullopt;
    found_.push_back(number);
    slots_[slot] = static_cast<uint32_t>(found_.size());
    return slots_[slot] - 1;
  }
  [[nodiscard]] std::span<const uint64_t> found() const { return found_; }

 private:
  std::vector<uint32_t> slots_;  // place + 1
  std::vector<uint64_t> found_;
};

std::optional<Dictionary> number_dictionary(ColumnType type, const Column& column, std::span<const uint32_t> rows) {
  Numbers numbers;
  Dictionary made;
  made.places.reserve(rows.size());
  for (const uint32_t row : rows) {
    const std::optional<uint32_t> place = numbers.place(stored_bits(type, column, row));
    if (!place || (made.places.size() == kTrialRows && numbers.found().size() > kTrialRows / 2)) return std::nullopt;
    made.places.push_back(*place);
  }
  made.count = static_cast<uint32_t>(numbers.found().size());
  if (made.count * 2 > rows.size() && made.count > 1) return std::nullopt;
  for (const uint64_t number : numbers.found()) append_bits(number, stored_width(type), made.values);
  return made;
}

// The texts that these rows have, in the order of their first row.
std::optional<Dictionary> text_dictionary(const Column& column, std::span<const uint32_t> rows) {
  std::vector<uint32_t> places(column.texts.size(), UINT32_MAX);
  Dictionary made;
  made.places.reserve(rows.size());
  for (const uint32_t row : rows) {
    uint32_t& place = places[column.numbers<uint32_t>()[row]];
    if (place == UINT32_MAX) {
      place = made.count++;
      append_value(ColumnType::kText, column, row, made.values);
    }
    made.places.push_back(place);
  }
  if ((made.count * 2 > rows.size() && made.count > 1) || made.values.size() > (size_t{1} << 30)) return std::nullopt;
  return made;
}

template <class T>
std::string plain_number(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// `Stored`: the type in the file, whose order readers use.
template <class T, class Stored>
void set_number_bounds(const Column& column, std::span<const uint32_t> rows, ColumnChunk& chunk) {
  const std::span<const T> values = column.numbers<T>();
  T least = values[rows.front()];
  T most = least;
  for (const uint32_t row : rows) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(values[row])) return;
    }
    least = std::min(least, values[row]);
    most = std::max(most, values[row]);
  }
  if constexpr (std::is_floating_point_v<T>) {
    // The two zeros are equal, and files of other writers keep them apart: bounds include both.
    if (least == 0) least = -T{0};
    if (most == 0) most = T{0};
  }
  chunk.least = plain_number(static_cast<Stored>(least));
  chunk.most = plain_number(static_cast<Stored>(most));
}

void set_text_bounds(ColumnType type, const Column& column, std::span<const uint32_t> rows, ColumnChunk& chunk) {
  std::string_view least = text_of(type, column, rows.front());
  std::string_view most = least;
  for (const uint32_t row : rows) {
    const std::string_view text = text_of(type, column, row);
    if (text < least) least = text;
    if (text > most) most = text;
  }
  if (least.size() <= kLongestBound) chunk.least = std::string(least);
  if (most.size() <= kLongestBound) chunk.most = std::string(most);
}

}  // namespace

void append_value(ColumnType type, const Column& column, size_t row, std::string& bytes) {
  if (holds_texts(type)) {
    const std::string_view text = text_of(type, column, row);
    append_bits(text.size(), 4, bytes);
    bytes += text;
    return;
  }
  append_bits(stored_bits(type, column, row), stored_width(type), bytes);
}

size_t value_size(ColumnType type, const Column& column, size_t row) {
  return holds_texts(type) ? 4 + text_of(type, column, row).size() : stored_width(type);
}

std::optional<Dictionary> make_dictionary(ColumnType type, const Column& column, std::span<const uint32_t> rows) {
  if (rows.empty() || type == ColumnType::kFlag || type == ColumnType::kBytes) return std::nullopt;
  return type == ColumnType::kText ? text_dictionary(column, rows) : number_dictionary(type, column, rows);
}

void set_bounds(ColumnType type, const Column& column, std::span<const uint32_t> rows, ColumnChunk& chunk) {
  if (rows.empty()) return;
  switch (type) {
    case ColumnType::kFlag:
      return set_number_bounds<uint8_t, uint8_t>(column, rows, chunk);
    case ColumnType::kUInt8:
      return set_number_bounds<uint8_t, uint32_t>(column, rows, chunk);
    case ColumnType::kUInt16:
      return set_number_bounds<uint16_t, uint32_t>(column, rows, chunk);
    case ColumnType::kUInt32:
      return set_number_bounds<uint32_t, uint32_t>(column, rows, chunk);
    case ColumnType::kInt32:
      return set_number_bounds<int32_t, int32_t>(column, rows, chunk);
    case ColumnType::kUInt64:
      return set_number_bounds<uint64_t, uint64_t>(column, rows, chunk);
    case ColumnType::kInt64:
      return set_number_bounds<int64_t, int64_t>(column, rows, chunk);
    case ColumnType::kDouble:
      return set_number_bounds<double, double>(column, rows, chunk);
    default:
      return set_text_bounds(type, column, rows, chunk);
  }
}

}  // namespace tensortap::parquet
