#include "ranks/job_trends.h"

namespace tensortap {

void JobTrends::add(const OpenRankDump& open, const TrendReport& report) {
  judged_ += report.judged;
  for (const Trend& trend : report.trends) {
    const RecordRow& row = open.dump.rows()[trend.row];
    const uint32_t place = open.place_of(row);
    const uint32_t job_op = open.job_op_of(row);
    if (place == kNowhere || job_op == kNoOp) continue;
    const uint64_t slot = uint64_t{row.phase} << 32 | uint64_t{row.slot_kind} << 24 | uint64_t{row.moment} << 16 | row.slot_index;
    const auto found = trends_.try_emplace({trend.kind, job_op, slot, row.element}, RanksTrend{trend, row, {}}).first;
    found->second.places.insert(place);
  }
}

}  // namespace tensortap
