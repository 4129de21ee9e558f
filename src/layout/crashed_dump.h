// A dump with what crashes left beside it.

#ifndef TENSORTAP_LAYOUT_CRASHED_DUMP_H_
#define TENSORTAP_LAYOUT_CRASHED_DUMP_H_

#include <memory>
#include <string>
#include <string_view>

#include "trace/dump_index.h"

namespace tensortap {

// The dump with the tensors of the crash files in `folder` behind its own records, as inputs of an op that failed or of the ring, with
// "crash" in its manifest, and with what happened among its problems; `advice` follows the name of the file there. The dump itself where
// there are none of its layout.
std::unique_ptr<DumpIndex> with_crashes(std::unique_ptr<DumpIndex> dump, const std::string& folder, std::string_view advice = {});

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_CRASHED_DUMP_H_
