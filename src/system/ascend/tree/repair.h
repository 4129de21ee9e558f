// Mending a tree of AscendCL's dump whose writer died, or whose files were cut short when they were copied.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_

#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::ascend {

// See Layout::repair. A file that is cut is replaced by one with the tensors that are whole, or, where there are none, set aside as
// ".cut-NAME", which readers pass over; the last line of a table or of mapping.csv is dropped where it is cut; lines of mapping.csv that
// are missing are made again where other files tell what the op is called; temporary files of processes that are gone are removed. Files
// are replaced at once.
Result<RepairReport> repair_tree(const std::string& folder, bool dry_run);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_REPAIR_H_
