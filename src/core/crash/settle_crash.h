// What a crash left, written into the tree of its session as files of that tree.

#ifndef TENSORTAP_CRASH_SETTLE_CRASH_H_
#define TENSORTAP_CRASH_SETTLE_CRASH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"

namespace tensortap {

struct SettledCrash {
  std::string text;                     // what happened: "the program got SIGSEGV (address 0x0) in op "div_1" (Div)"
  uint64_t records = 0;                 // that the tree has now, or would have
  uint64_t tensors = 0;                 // of these, with their values
  uint64_t lost = 0;                    // that the tree cannot store, or whose memory could not be read
  std::vector<std::string> lost_names;  // of the first of these
};

// Writes the contents of the crash file `path` into its folder, in `layout`: the inputs of the op that ran as those of an op that failed,
// and the records of the ring as they would have been, dated with the moment of the crash. Then writes the manifest, with "crash", and
// removes the crash file. Touches nothing when `dry_run`. Errors, after which the crash file stays: kUnsupported while the program that
// crashed is still running, and for a file that does not describe its session; kCorrupt; those of the layout's writer when it cannot be
// made or cannot write.
Result<SettledCrash> settle_crash(const std::string& path, const Layout& layout, bool dry_run);

}  // namespace tensortap

#endif  // TENSORTAP_CRASH_SETTLE_CRASH_H_
