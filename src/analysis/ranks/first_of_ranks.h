// Which rank of a job had NaN or Inf first, and where it came from there.

#ifndef TENSORTAP_RANKS_FIRST_OF_RANKS_H_
#define TENSORTAP_RANKS_FIRST_OF_RANKS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json_fwd.h"
#include "find/value_source.h"
#include "ranks/rank_job.h"

namespace tensortap {

// First is what comes first by step, then in the order of the job's ops: clocks of ranks are not compared. Within a step what a rank made
// itself comes before what may have been made elsewhere, and that before what a collective brought.
class FirstOfRanks {
 public:
  explicit FirstOfRanks(const RankJob& job) : job_(job), firsts_(job.ranks().size()) {}
  void add(const OpenRankDump& open, size_t dump);
  // {"first": {"rank", "ranks": that have it at the same place, "origin": origin_json() or null, and what nonfinite_json() says} or null,
  // "ranks": [{"rank", "step", "op", ...}]}: the first record of each rank that holds any, harmless and intended ones included. Opens the
  // dumps of those ranks again that may have been first.
  [[nodiscard]] Json report(RankJob& job) const;

 private:
  struct Place {
    uint32_t step = kNowhere;
    ValueSource source = ValueSource::kOwn;
    uint32_t job_op = kNowhere;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct First {
    Place place;
    size_t dump = 0;
  };
  [[nodiscard]] Place place_of(const OpenRankDump& open, const RecordRow& row) const {
    return {job_.step_place(row.step), ValueSource::kOwn, open.job_op_of(row)};
  }

  const RankJob& job_;
  std::vector<First> firsts_;  // by place of the rank
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_FIRST_OF_RANKS_H_
