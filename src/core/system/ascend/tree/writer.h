// The layout "ge", written: the tree of AscendCL's dump. docs/layouts/ge.md is the authority.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_WRITER_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_WRITER_H_

#include <memory>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::ascend {

// Writes below `info.folder`, which may hold earlier dumps; touches nothing before the first record or finish(). `spec` gives what is kept
// and, in layout_options, "stats_columns" ("Max,Min,Avg,Nan,Negative Inf,Positive Inf"), "scene" ("model", "overflow", "exception",
// "watcher"), "portable_names" ("true") and what options.h lists. Errors: kInvalidArgument for a column or scene that does not exist, and
// for a spec that keeps neither tensors nor statistics.
Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_WRITER_H_
