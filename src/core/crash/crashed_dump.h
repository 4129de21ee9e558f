// A dump with what crashes left beside it.

#ifndef TENSORTAP_CRASH_CRASHED_DUMP_H_
#define TENSORTAP_CRASH_CRASHED_DUMP_H_

#include <memory>
#include <string>
#include <string_view>

#include "trace/dump_index.h"

namespace tensortap {

// Returns the dump with the tensors of the crash files in `folder` after its own records, as inputs of an op that failed or of the ring.
// Its manifest has "crash", and its problems report what happened; `advice` follows the name of the file there. Returns the dump itself if
// the folder has no crash files of its layout.
std::unique_ptr<DumpIndex> with_crashes(std::unique_ptr<DumpIndex> dump, const std::string& folder, std::string_view advice = {});

}  // namespace tensortap

#endif  // TENSORTAP_CRASH_CRASHED_DUMP_H_
