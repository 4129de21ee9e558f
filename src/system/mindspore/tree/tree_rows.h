// The records of a walked tree: headers read, statistics joined, in the order of time.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_ROWS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_ROWS_H_

#include <cstdint>
#include <vector>

#include "trace/op_info.h"
#include "trace/record_row.h"
#include "tree/problems.h"
#include "tree/walk.h"

namespace tensortap::mindspore {

inline constexpr uint32_t kNoFile = 0xffffffffU;

struct TreeRows {
  std::vector<RecordRow> rows;
  std::vector<uint32_t> files;    // by row: in Tree::files, kNoFile for statistics only
  std::vector<uint32_t> folders;  // by row: in Tree::folders
  std::vector<OpInfo> ops;
};

// Opens every tensor file once, for its header, and every statistic.csv and graph file. What can not be read is said and left out; a tensor
// whose values are cut off keeps its row, as lost.
TreeRows read_tree_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_ROWS_H_
