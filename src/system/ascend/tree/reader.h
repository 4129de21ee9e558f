// Reads the trees that AscendCL's dump leaves, ours and the real ones. docs/layouts/ge.md is the authority.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::ascend {

// Functions of the layout's row.
//
// A tree may be given at any level: the folder that holds those named by a time, one of these, a device's, a model's, a step's.
Confidence recognise_tree(const std::string& folder);
// Errors: kNotFound when nothing of a dump is there. Everything else that is wrong stands in problems().
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_READER_H_
