// The records of a dump as columns.

#ifndef TENSORTAP_TABLE_RECORD_COLUMNS_H_
#define TENSORTAP_TABLE_RECORD_COLUMNS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/column.h"
#include "trace/dump_index.h"

namespace tensortap {

// Some records of a dump.
struct RecordBlock {
  const DumpIndex& dump;
  std::span<const uint32_t> rows;
};

// A column, and what adds its values for some records.
struct RecordColumn {
  ColumnSpec spec;
  std::function<void(const RecordBlock& block, Column& column)> add;
};

// The columns of Dump.to_arrow() and to_pandas(): op, type and slot by name, the single-valued columns of records.npy, and the shape. A
// statistic that some records lack is a column of doubles, NaN where it was not measured. Borrows from the dump.
std::vector<RecordColumn> frame_columns(const DumpIndex& dump);

// The columns of exported tables (docs/many_ranks.md): a value that was not measured or does not exist is null. `job_ops` has the number
// in the job for each op of the dump, and is borrowed; `dump_name` is what the column "dump" says.
std::vector<RecordColumn> export_columns(std::span<const uint32_t> job_ops, const std::string& dump_name);

// The values of these records, made block by block, so that a record is in the cache while its columns are made.
std::vector<Column> make_columns(std::span<const RecordColumn> columns, const RecordBlock& block);

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_RECORD_COLUMNS_H_
