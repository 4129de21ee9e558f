// The records of a walked tree: headers read, in the order of steps and times.

#ifndef TENSORTAP_SYSTEM_TORCHAIR_TREE_ROWS_H_
#define TENSORTAP_SYSTEM_TORCHAIR_TREE_ROWS_H_

#include "tree/problems.h"
#include "tree/tree_rows.h"

namespace tensortap::torchair {

// Opens every file once, for its header. Files that cannot be read are left out and counted; so are those that hold no tensor but None or
// text. A tensor whose values are cut off keeps its row, as lost.
TreeRows read_rows(const Tree& tree, TreeProblems& problems);

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_TREE_ROWS_H_
