// The values of a column as Parquet stores them, without the rows that have none.

#ifndef TENSORTAP_FORMAT_PARQUET_COLUMN_VALUES_H_
#define TENSORTAP_FORMAT_PARQUET_COLUMN_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/column.h"
#include "format/parquet/column_chunk.h"

namespace tensortap::parquet {

// Different values and which of them each row has.
struct Dictionary {
  std::string values;  // PLAIN, one after the other
  uint32_t count = 0;
  std::vector<uint32_t> places;  // for each row with a value
};

// Appends the value of a row, which has one, as PLAIN: numbers as they are, texts behind their length. Not for flags.
void append_value(ColumnType type, const Column& column, size_t row, std::string& bytes);
// Bytes that append_value() adds.
size_t value_size(ColumnType type, const Column& column, size_t row);

// Nothing where a dictionary would not pay, as for flags, bytes and numbers that are mostly different.
std::optional<Dictionary> make_dictionary(ColumnType type, const Column& column, std::span<const uint32_t> rows);

// Sets least and most of the chunk from these rows. A column with a NaN has none: what is larger than a NaN, engines do not agree on.
void set_bounds(ColumnType type, const Column& column, std::span<const uint32_t> rows, ColumnChunk& chunk);

}  // namespace tensortap::parquet

#endif  // TENSORTAP_FORMAT_PARQUET_COLUMN_VALUES_H_
