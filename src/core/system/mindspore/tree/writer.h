// The layout "mindspore", written: the tree of MindSpore's synchronous dump. docs/layouts/mindspore.md is the authority.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_H_

#include <memory>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::mindspore {

// Writes below `info.folder`/rank_N, which may hold earlier dumps; touches nothing before the first record, step or finish(). `spec` gives
// what is kept, the profile and, in layout_options, "net_name" ("Net"), "statistic_category" ("max,min,l2norm") and "config", the text of
// the config file. Errors: kInvalidArgument for a profile, a net name or a category that does not exist, and for a spec that keeps neither
// tensors nor statistics.
Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_H_
