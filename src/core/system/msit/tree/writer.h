// The layout "msit", written: the tree of `msit llm dump`. docs/layouts/msit.md is the authority.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_WRITER_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_WRITER_H_

#include <memory>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap::msit {

// Writes below `info.folder`/msit_dump_TIME, which may hold what other processes write; touches nothing before the first record or
// finish(). `spec` gives what is kept and, in layout_options, "time", "links" and "tables". Errors: kInvalidArgument for values of these
// that are not valid.
Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_WRITER_H_
