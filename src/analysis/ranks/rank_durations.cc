#include "ranks/rank_durations.h"

#include <tuple>

#include "find/collective_types.h"

namespace tensortap {

RankDurations::RankDurations(const RankJob& job) : job_(job), sums_(job.ranks().size() * job.ops().size()) {
  for (const JobOps::Op& op : job.ops()) waits_.push_back(may_wait(op.type));
}

void RankDurations::add(const OpenRankDump& open) {
  std::tuple<uint32_t, uint32_t, int64_t, uint8_t> last(kNoOp, 0, 0, 0);
  for (const RecordRow& row : open.dump.rows()) {
    const uint32_t place = open.place_of(row);
    const uint32_t job_op = open.job_op_of(row);
    if (row.duration_ns < 0 || place == kNowhere || job_op == kNoOp || waits_[job_op]) continue;
    // All outputs of an execution have its duration.
    const std::tuple execution(row.op, row.call, row.step, row.phase);
    if (execution == last) continue;
    last = execution;
    Sum& own = sums_[place * job_.ops().size() + job_op];
    own.nanoseconds += static_cast<double>(row.duration_ns);
    ++own.executions;
  }
}

}  // namespace tensortap
