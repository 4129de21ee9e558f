// The records of a walked tree: heads and tables read, in the order of time.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_ROWS_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_ROWS_H_

#include "tree/tree_rows.h"

namespace tensortap::ascend {

// Opens every file once. Skips and reports everything that cannot be read.
TreeRows read_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_ROWS_H_
