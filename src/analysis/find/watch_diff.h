// Who wrote into a tensor that was not his: the looks of a watch (capture trigger "watch", AscendCL's watcher), compared one after another.

#ifndef TENSORTAP_FIND_WATCH_DIFF_H_
#define TENSORTAP_FIND_WATCH_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

namespace tensortap {

// A tensor whose content was not the same at two looks that follow each other.
struct Overwrite {
  size_t before = 0;                // row: the tensor as it was made, or the last look that still showed that
  size_t after = 0;                 // row: the first look that did not
  OpId watched = kNoOp;             // whose tensor it is
  std::string writer;               // the op that had just run
  std::string last_equal;           // the op after which the content was still whole
  std::vector<std::string> others;  // ops that ran between the two, by the order of the graph: each may be the writer as well
  // Whether an op that reads the tensor was still to run; nothing when the dump does not show who reads it.
  std::optional<bool> still_read;
  // What changed; only where both records have their data.
  struct Change {
    uint64_t first_byte = 0;  // of the first element that differs
    uint64_t end_byte = 0;    // after the last one
    uint64_t elements = 0;
    std::vector<int64_t> index;  // of the first element that differs
    std::string value_before;
    std::string value_after;
  };
  std::optional<Change> change;
};

struct WatchReport {
  uint64_t looks = 0;
  uint64_t tensors = 0;    // that were looked at again, each execution for itself
  uint64_t unknown = 0;    // looks that nothing could be compared of: neither data, nor digests, nor statistics
  uint64_t estimated = 0;  // looks of which only the statistics could be compared
  std::vector<Overwrite> overwritten;
};

// Linear in the records, except for the data of those that differ. The first overwriting of each tensor counts: what comes after it builds
// on it. `chosen`, not null, keeps the watched tensors whose looks count, by their ops and steps.
WatchReport watch_diff(const DumpIndex& dump, const RowFilter* chosen = nullptr);

// {"looks", "tensors", "unknown", "estimated", "not_known": text or null, "overwritten": [...], "reused": [...], "reused_or_overwritten":
// [...]}. `overwritten`: an op was still to read the tensor. `reused`: no op was. `reused_or_overwritten`: the dump does not show which.
// Each entry: {"record", "op", "type", "slot", "step", "writer", "last_equal", "others", "still_read", "bytes": [begin, end], "elements",
// "index", "before", "after"}; unknown values are null. "not_known" says why an answer without `overwritten` is no all-clear.
Json watch_diff_json(const DumpIndex& dump, const WatchReport& report);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_WATCH_DIFF_H_
