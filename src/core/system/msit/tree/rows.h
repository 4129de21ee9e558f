// The records of a walked tree: headers read, in the order of rounds and operations.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_ROWS_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_ROWS_H_

#include "tree/problems.h"
#include "tree/tree_rows.h"

namespace tensortap::msit {

// Opens every file once, for its header, and one op_param.json of each operation. Files that cannot be read are left out and counted; a
// tensor whose elements were cut off keeps its row, as lost. Operations above the ones with tensors are ops, too.
TreeRows read_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_ROWS_H_
