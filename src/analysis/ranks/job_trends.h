// Trends over the steps, by the ranks that have them.

#ifndef TENSORTAP_RANKS_JOB_TRENDS_H_
#define TENSORTAP_RANKS_JOB_TRENDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "base/json_fwd.h"
#include "find/trends.h"
#include "ranks/rank_job.h"
#include "trace/record_row.h"

namespace tensortap {

// What find_trends() says of each rank. Ranks have a trend in common where it is of one kind and of one slot of one op.
class JobTrends {
 public:
  explicit JobTrends(const RankJob& job) : job_(job) {}
  // What find_trends() says of a dump, which is open.
  void add(const OpenRankDump& open, const TrendReport& report);
  // {"judged": series, "in_all": {"count", "trends"}, "in_one": {...}, "in_some": {...}}, at most `limit` trends each: {"kind", "measure",
  // "record", "op", ..., "slot", "since", "step", "slope", "from", "to", "ranks"}, with the numbers of the first rank that has it. In all
  // means: of the two ranks or more that have the op.
  [[nodiscard]] Json report(size_t limit) const;
  [[nodiscard]] bool finds_any() const { return !trends_.empty(); }

 private:
  struct RanksTrend {
    Trend trend;
    RecordRow row;
    std::set<uint32_t> places;
  };
  [[nodiscard]] Json trend_json(uint32_t job_op, const RanksTrend& one) const;

  const RankJob& job_;
  std::map<std::tuple<TrendKind, uint32_t, uint64_t, int64_t>, RanksTrend> trends_;  // by kind, op, slot and element
  uint64_t judged_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_JOB_TRENDS_H_
