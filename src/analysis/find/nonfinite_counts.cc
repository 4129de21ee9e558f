#include "find/nonfinite_counts.h"

#include "stats/stats.h"

namespace tensortap {

std::optional<TensorStats> stats_with(const DumpIndex& dump, size_t row, uint32_t wanted) {
  const RecordRow& record = dump.rows()[row];
  const uint32_t valid = record.stats.valid;
  const bool counted = (valid & wanted) == wanted;
  if (counted && (valid & kStatSampled) == 0) return record.stats;
  const std::optional<TensorStats> sampled = counted ? std::optional(record.stats) : std::nullopt;
  if ((record.flags & kRecordHasData) == 0) return sampled;
  const Result<RecordData> data = dump.data(row);
  if (!data.ok()) return sampled;
  StatsOptions options;
  options.wanted = wanted;
  TensorStats stats = compute_stats(data->view, options);
  if (holds_part(record)) stats.valid |= kStatSampled;
  return (stats.valid & wanted) == wanted ? std::optional(stats) : std::nullopt;
}

Holding holding_of(const DumpIndex& dump, size_t row) {
  if (!can_hold_nonfinite(dump.rows()[row]) || (dump.rows()[row].flags & kRecordUnwritten) != 0) return Holding::kNone;
  const std::optional<TensorStats> stats = stats_with(dump, row, kStatNonFinite);
  if (!stats) return Holding::kUnknown;
  if (stats->nan + stats->pos_inf + stats->neg_inf > 0) return Holding::kSome;
  return (stats->valid & kStatSampled) != 0 ? Holding::kUnknown : Holding::kNone;
}

}  // namespace tensortap
