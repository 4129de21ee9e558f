// The tables of ops that are exported.

#ifndef TENSORTAP_TABLE_OP_TABLES_H_
#define TENSORTAP_TABLE_OP_TABLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/column.h"
#include "table/job_ops.h"
#include "trace/dump_index.h"

namespace tensortap {

// A row for each op of the job.
std::vector<ColumnSpec> job_op_specs();
std::vector<Column> job_op_columns(std::span<const JobOps::Op> ops);

// A row for each op of a dump, in the order of their numbers in the job.
std::vector<ColumnSpec> op_specs();
std::vector<Column> op_columns(const DumpIndex& dump, std::span<const uint32_t> job_ops, const std::string& dump_name);

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_OP_TABLES_H_
