// Columns of values in memory, which make up tables of Arrow and Parquet.

#ifndef TENSORTAP_BASE_COLUMN_H_
#define TENSORTAP_BASE_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensortap {

enum class ColumnType : uint8_t { kFlag, kUInt8, kUInt16, kUInt32, kInt32, kUInt64, kInt64, kDouble, kText, kBytes, kSizes };

// Bytes of one value in Column::values.
constexpr size_t column_width(ColumnType type) {
  switch (type) {
    case ColumnType::kFlag:
    case ColumnType::kUInt8:
      return 1;
    case ColumnType::kUInt16:
      return 2;
    case ColumnType::kUInt32:
    case ColumnType::kInt32:
    case ColumnType::kText:
    case ColumnType::kSizes:
      return 4;
    default:
      return 8;
  }
}

struct ColumnSpec {
  std::string name;
  ColumnType type = ColumnType::kDouble;
  bool optional = false;  // rows may have no value
};

// The values of one column for a number of rows. Thread-compatible.
struct Column {
  // Packed, one for each row: a number (kFlag: 0 or 1), a place in `texts` (kText) or `lists` (kSizes), or where a value ends in `bytes`
  // (kBytes). Rows without a value have one that means nothing.
  std::vector<std::byte> values;
  std::vector<uint8_t> present;  // of optional columns: 1 or 0 for each row; empty where every row has a value
  std::vector<std::string> texts;
  std::vector<std::vector<int64_t>> lists;
  std::string bytes;

  // Room for `count` more values, to be filled at once.
  template <class T>
  std::span<T> extend(size_t count) {
    const size_t before = values.size();
    values.resize(before + count * sizeof(T));
    return {reinterpret_cast<T*>(values.data() + before), count};
  }
  template <class T>
  [[nodiscard]] std::span<const T> numbers() const {
    return {reinterpret_cast<const T*>(values.data()), values.size() / sizeof(T)};
  }
  [[nodiscard]] bool has(size_t row) const { return present.empty() || present[row] != 0; }
  [[nodiscard]] size_t nulls() const {
    size_t count = 0;
    for (const uint8_t one : present) count += one == 0 ? 1 : 0;
    return count;
  }
  // The value of a row of a kBytes column.
  [[nodiscard]] std::string_view bytes_of(size_t row) const {
    const std::span<const uint64_t> ends = numbers<uint64_t>();
    const size_t begin = row == 0 ? 0 : static_cast<size_t>(ends[row - 1]);
    return std::string_view(bytes).substr(begin, static_cast<size_t>(ends[row]) - begin);
  }
  // The place of a text in `texts`, where it is put when it is new.
  uint32_t text_place(std::string_view text) {
    const auto [found, is_new] = places_.try_emplace(std::string(text), static_cast<uint32_t>(texts.size()));
    if (is_new) texts.emplace_back(text);
    return found->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> places_;
};

}  // namespace tensortap

#endif  // TENSORTAP_BASE_COLUMN_H_
