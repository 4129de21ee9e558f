// The columns of a record: one table for `tensortap ls`, its --sort, JSON and Python.

#ifndef TENSORTAP_QUERY_ROW_COLUMNS_H_
#define TENSORTAP_QUERY_ROW_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// What a column holds for one record. The first alternative: nothing, since it was not measured or is not known.
using RowValue = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, std::vector<int64_t>>;

enum class ColumnKind : uint8_t { kNumber, kText, kFlag, kSizes };

// Where a column appears. `ls` also prints every column that it sorts by.
enum ColumnUse : uint8_t {
  kColumnListed = 1U << 0,  // a column of the table that `ls` prints
  kColumnSorts = 1U << 1,   // a key of --sort
  kColumnInJson = 1U << 2,  // a member of a record's JSON, null when there is no value
  kColumnIfSet = 1U << 3,   // left out of the JSON of records for which `is_set` is false
};

// One row of the table.
struct RowColumn {
  std::string_view name;
  ColumnKind kind = ColumnKind::kNumber;
  uint8_t uses = 0;    // ColumnUse bits
  uint32_t stats = 0;  // Stat bits that a record needs to have a value; 0 = always there, or decided by `value`
  // `row` is a valid row number. Asked only when the record has the bits of `stats`.
  RowValue (*value)(const DumpIndex& dump, size_t row) = nullptr;
  bool (*is_set)(const RecordRow& row) = nullptr;
};

// In the order of JSON. Names are unique.
std::span<const RowColumn> row_columns();
// Null for an unknown name.
const RowColumn* find_column(std::string_view name);
// The names of the columns with one of these uses; texts come first.
std::vector<std::string> column_names(uint8_t uses);

// The value of a record; nothing when a statistic that it needs was not measured.
RowValue column_value(const RowColumn& column, const DumpIndex& dump, size_t row);
// A number as a double; NaN for everything else.
double number_of(const RowValue& value);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_ROW_COLUMNS_H_
