// The ten questions about the ranks of a job.

#ifndef TENSORTAP_RANKS_RANKS_REPORT_H_
#define TENSORTAP_RANKS_RANKS_REPORT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "query/row_query.h"
#include "ranks/rank_groups.h"
#include "trace/completeness.h"

namespace tensortap {

struct RanksRequest {
  std::vector<std::string> sources;  // dumps, and folders of jobs
  std::vector<RankGroup> groups;     // ranks that must hold the same; empty = as the dumps say
  size_t limit = 10;                 // examples of each list
  // Which values of the ranks are put beside each other. The first value that is not finite, trends, times and the progress are those of
  // the whole job.
  RowQuery query = {};
};

// Called before each dump with how many were read and how many there are to read, all passes together. False ends the report.
using RanksProgress = std::function<bool(size_t done, size_t all)>;

// {"ranks": [{"rank", "dumps", "records", "release", "source", "notes"}], "missing_ranks", "unread": [{"rank", "dump", "reason"}],
// "job_ops", "steps": {"count", "first", "last"}, "nonfinite", "apart", "replicas", "gradients", "trends", "missing", "shapes",
// "durations": with "own": that of RankPaces, "slowest": the first of the slow ranks or null, "stages": whether they are not judged,
// "coverage": [{"rank", "lost", "losses", "ops", "steps"}], "progress": [{"rank", "end": {"how": end_name(), "signal", "reason", "step",
// "op", "type", "module", "source", "waits": whether that op waits for other ranks, "records_of_step"}, "steps", "first", "last",
// "behind"}], "map", "found": [...], "dump": completeness_json()};
// the objects are those of the classes of this folder. "found" has the names of the answers that found something, and "unread",
// "missing_ranks", "without_records", "died", "failed", "types". A dump that cannot be read is said, and the rest answered. Errors: those
// of RankJob::open(); kInvalidArgument for a group without two ranks of the job, and for a wrong query; kNotFound when `progress` ended it,
// and, with the nearest names, for a query that chooses no record of any rank.
//
// Dumps are opened one after the other. At most about 300 MB of records are held beside each other, steps by steps, and 32 bytes for each
// rank and op. `dumps`, not null, gets how complete each of them is.
Result<Json> ranks_report(const RanksRequest& request, const RanksProgress& progress, std::vector<NamedCompleteness>* dumps = nullptr);

// Whether a name in "found" is that of a fault; the others say that the answer is incomplete.
bool is_fault(std::string_view found);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANKS_REPORT_H_
