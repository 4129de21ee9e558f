// The records of a walked tree: heads and tables read, in the order of time.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_GE_ROWS_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_GE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/op_info.h"
#include "trace/record_row.h"
#include "tree/walk.h"

namespace tensortap::ascend {

struct FoundRows {
  std::vector<RecordRow> rows;
  std::vector<uint32_t> files;  // by row: in Tree::files
  std::vector<OpInfo> ops;
};

// Opens every file once. What cannot be read is skipped and reported.
FoundRows read_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_GE_ROWS_H_
