// The records of a walked tree: headers read, statistics joined, in the order of time.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_ROWS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_ROWS_H_

#include "tree/problems.h"
#include "tree/tree_rows.h"

namespace tensortap::mindspore {

// Opens every tensor file once, for its header, and every statistic.csv and graph file. Files that cannot be read are reported and left
// out; a tensor whose values are cut off keeps its row, as lost.
TreeRows read_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_ROWS_H_
