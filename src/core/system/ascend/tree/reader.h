// Reads the trees of AscendCL's dumps, ours and the real ones. docs/layouts/ge.md is the authority.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::ascend {

// Functions of the layout's row.
//
// A tree may be opened at any level: the folder that contains those named by a time, one of these, a device's, a model's, a step's.
Confidence recognise_tree(const std::string& folder);
// Errors: kNotFound when the folder contains nothing of a dump. problems() has all other faults.
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_
