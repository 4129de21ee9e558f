// Which rank's ops take longest.

#ifndef TENSORTAP_RANKS_RANK_DURATIONS_H_
#define TENSORTAP_RANKS_RANK_DURATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/rank_job.h"

namespace tensortap {

// Compares durations of ops, which need no common clock. An op of a rank counts by the mean of its executions. Collectives do not count:
// they last until the last rank arrives.
class RankDurations {
 public:
  explicit RankDurations(const RankJob& job);
  void add(const OpenRankDump& open);
  // {"ops": that two ranks or more have a duration of, "ranks": [{"rank", "slowest_in": ops, "ratio": of its time to the median of the
  // ranks}], "spread": [{"op", ..., "rank", "mean_ns", "median_ns", "ratio"}]}: at most `limit` ops, those that lose most time first.
  [[nodiscard]] Json report(size_t limit) const;

 private:
  struct Sum {
    double nanoseconds = 0;
    uint64_t executions = 0;
    [[nodiscard]] double mean() const { return nanoseconds / static_cast<double>(executions); }
  };
  struct Slowest {
    uint32_t job_op = 0;
    uint32_t place = 0;
    double mean = 0;
    double median = 0;
    double excess = 0;  // nanoseconds in all executions
  };
  [[nodiscard]] const Sum& sum(uint32_t place, uint32_t op) const { return sums_[place * job_.ops().size() + op]; }

  const RankJob& job_;
  std::vector<Sum> sums_;    // by place and op
  std::vector<bool> waits_;  // by op: for other ranks
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_DURATIONS_H_
