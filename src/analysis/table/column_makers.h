// How the columns of records are made: shared by the tables of Python and those that are exported.

#ifndef TENSORTAP_TABLE_COLUMN_MAKERS_H_
#define TENSORTAP_TABLE_COLUMN_MAKERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "table/record_columns.h"
#include "trace/record_row.h"

namespace tensortap {

// A field of RecordRow: where it lies.
template <class T>
T field_at(const RecordRow& row, size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&row) + offset, sizeof(T));
  return value;
}

template <class Row, class Value>
void add_numbers(const RecordBlock& block, Column& column, const Row& value_of, Value /*type*/) {
  const std::span<Value> values = column.extend<Value>(block.rows.size());
  const std::span<const RecordRow> rows = block.dump.rows();
  for (size_t i = 0; i < values.size(); ++i) values[i] = value_of(rows[block.rows[i]]);
}

// Marks the rows for which `has` holds as those with a value.
template <class Has>
void add_presence(const RecordBlock& block, Column& column, const Has& has) {
  const size_t before = column.present.size();
  column.present.resize(before + block.rows.size());
  const std::span<const RecordRow> rows = block.dump.rows();
  for (size_t i = 0; i < block.rows.size(); ++i) column.present[before + i] = has(rows[block.rows[i]]) ? 1 : 0;
}

// Adds texts that depend on a number of the record alone: each number is turned into text once for a column.
template <class Key, class Text>
class TextByNumber {
 public:
  TextByNumber(Key key, Text text) : key_(std::move(key)), text_(std::move(text)) {}

  void operator()(const RecordBlock& block, Column& column) {
    if (column.texts.empty()) places_.clear();
    const std::span<uint32_t> values = column.extend<uint32_t>(block.rows.size());
    const std::span<const RecordRow> rows = block.dump.rows();
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t key = key_(rows[block.rows[i]]);
      if (key >= kMostPlaces) {
        values[i] = column.text_place(text_(key));
        continue;
      }
      if (key >= places_.size()) places_.resize(static_cast<size_t>(key) + 1, kNoPlace);
      uint32_t& place = places_[static_cast<size_t>(key)];
      if (place == kNoPlace) place = column.text_place(text_(key));
      values[i] = place;
    }
  }

 private:
  static constexpr uint32_t kNoPlace = 0xffffffffU;
  static constexpr uint64_t kMostPlaces = uint64_t{1} << 24;
  Key key_;
  Text text_;
  std::vector<uint32_t> places_;
};

// A column of texts of the number that `key` gives for a row.
template <class Key, class Text>
RecordColumn text_column(std::string name, Key key, Text text) {
  return {{std::move(name), ColumnType::kText, false}, TextByNumber<Key, Text>(std::move(key), std::move(text))};
}

// Text columns that both tables have: "out0", "float32", "backward".
RecordColumn slot_column();
RecordColumn dtype_column();
RecordColumn phase_column();
RecordColumn model_phase_column();

// Numbers the shapes of the records of one column; `add` is called with each new one. Thread-compatible.
class ShapePlaces {
 public:
  template <class Add>
  uint32_t place_of(const RecordRow& row, const Add& add) {
    const size_t size = std::min<size_t>(row.dims_count, kRowDims) * sizeof(row.shape[0]);
    key_.assign(1, static_cast<char>(row.dims_count));
    key_.append(reinterpret_cast<const char*>(row.shape), size);
    const auto found = places_.find(key_);
    if (found != places_.end()) return found->second;
    const uint32_t place = add(row.desc().shape);
    places_.emplace(key_, place);
    return place;
  }
  void clear() { places_.clear(); }

 private:
  std::string key_;
  std::unordered_map<std::string, uint32_t> places_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_COLUMN_MAKERS_H_
