// Repairs a tree of AscendCL's dump whose writer died, or whose files were cut short when they were copied.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_

#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::ascend {

// See Layout::repair. A cut file is replaced by one with its whole tensors or, without any, set aside as ".cut-NAME", which readers skip.
// The last line of a table or of mapping.csv is dropped if it is cut. Missing lines of mapping.csv are made again if other files show the
// op's name. Temporary files of processes that are gone are removed. Each file is replaced at once.
Result<RepairReport> repair_tree(const std::string& folder, bool dry_run);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_
