#include "find/step_series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/spans.h"

namespace tensortap {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t kBothExtremes = kStatMin | kStatMax;

bool has(const TensorStats& stats, uint32_t bits) { return (stats.valid & bits) == bits; }

bool holds_nonfinite(const TensorStats& stats) {
  const uint64_t counted = (has(stats, kStatNan) ? stats.nan : 0) + (has(stats, kStatPosInf) ? stats.pos_inf : 0) +
                           (has(stats, kStatNegInf) ? stats.neg_inf : 0);
  // Without counts, a statistic of finite values is finite.
  return counted > 0 || (has(stats, kStatL2) && !std::isfinite(stats.l2)) || (has(stats, kStatAbsMax) && !std::isfinite(stats.absmax)) ||
         (has(stats, kBothExtremes) && !(std::isfinite(stats.min) && std::isfinite(stats.max)));
}

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdU;
  return hash ^ (hash >> 33);
}

uint64_t identity_of(const RecordRow& record) {
  uint64_t hash = mixed(record.numel, record.dtype);
  if (record.digest_kind != 0) {
    for (const uint8_t byte : record.digest) hash = mixed(hash, byte);
    return hash | 1U;
  }
  // Extremes alone stay equal by chance, where values are clipped.
  if (!has(record.stats, kBothExtremes) || !(has(record.stats, kStatMean) || has(record.stats, kStatL2))) return 0;
  if ((record.stats.valid & kStatSampled) != 0) return 0;
  const std::pair<Stat, double> values[] = {{kStatMin, record.stats.min}, {kStatMax, record.stats.max}, {kStatMean, record.stats.mean},
                                            {kStatStd, record.stats.std}, {kStatL2, record.stats.l2},   {kStatAbsMax, record.stats.absmax}};
  for (const auto& [bit, value] : values) {
    if (has(record.stats, bit)) hash = mixed(hash, std::bit_cast<uint64_t>(value));
  }
  return hash | 1U;
}

// Sums over the calls of one step.
struct Sums {
  double squares = 0;
  double elements = 0;  // that `squares` is of
  double absmax = 0;
  double zeros = 0;
  double counted = 0;  // that `zeros` are of
  bool squares_known = true;
  bool absmax_known = true;
  bool zeros_known = true;
  bool identity_known = true;
  StepPoint point;

  void add(const RecordRow& record, uint32_t row);
  [[nodiscard]] StepPoint finished() const;
};

void Sums::add(const RecordRow& record, uint32_t row) {
  point.step = record.step;
  point.row = row;
  const TensorStats& stats = record.stats;
  point.nonfinite = point.nonfinite || holds_nonfinite(stats);
  const auto looked_at = static_cast<double>(stats.count > 0 ? stats.count : record.numel);
  squares_known = squares_known && has(stats, kStatL2);
  squares += stats.l2 * stats.l2;
  elements += looked_at;
  const bool extremes = has(stats, kBothExtremes);
  absmax_known = absmax_known && (extremes || has(stats, kStatAbsMax));
  absmax = std::max(absmax, has(stats, kStatAbsMax) ? stats.absmax : std::max(std::abs(stats.min), std::abs(stats.max)));
  const bool all_zero = extremes && stats.min == 0 && stats.max == 0 && !point.nonfinite;
  const bool none_zero = extremes && (stats.min > 0 || stats.max < 0);
  zeros_known = zeros_known && (has(stats, kStatZero) || all_zero || none_zero);
  zeros += has(stats, kStatZero) ? static_cast<double>(stats.zero) : all_zero ? looked_at : 0;
  counted += looked_at;
  const uint64_t identity = identity_of(record);
  identity_known = identity_known && identity != 0;
  point.identity = mixed(point.identity, identity);
}

StepPoint Sums::finished() const {
  StepPoint made = point;
  made.rms = squares_known && elements > 0 && !point.nonfinite ? std::sqrt(squares / elements) : kNaN;
  made.absmax = absmax_known && elements > 0 && !point.nonfinite ? absmax : kNaN;
  made.zero_share = zeros_known && counted > 0 ? zeros / counted : kNaN;
  made.identity = identity_known ? point.identity | 1U : 0;
  return made;
}

}  // namespace

SeriesEntry series_entry(const RecordRow& record, size_t row) {
  SeriesEntry entry;
  entry.op_and_rank = uint64_t{record.op} << 32 | static_cast<uint32_t>(record.rank);
  const uint64_t kind = (uint64_t{record.slot_kind} & 0xfU) | (uint64_t{record.moment} & 0xfU) << 4;
  entry.slot = kind << 56 | uint64_t{record.phase} << 48 | uint64_t{record.slot_index} << 32 | static_cast<uint32_t>(record.element);
  entry.step = record.step;
  entry.call = record.call;
  entry.row = static_cast<uint32_t>(row);
  return entry;
}

std::vector<SeriesEntry> series_entries(const DumpIndex& dump, const std::function<bool(const RecordRow&)>& wanted) {
  std::vector<SeriesEntry> entries;
  const std::span<const RecordRow> rows = dump.rows();
  for (size_t row = 0; row < rows.size(); ++row) {
    const RecordRow& record = rows[row];
    if (record.op >= dump.ops().size() || (record.flags & kRecordUnwritten) != 0 || !wanted(record)) continue;
    entries.push_back(series_entry(record, row));
  }
  std::ranges::sort(entries);
  return entries;
}

std::span<const SeriesEntry> first_series(std::span<const SeriesEntry> entries) {
  size_t end = 0;
  while (end < entries.size() && entries[end].in_series_of(entries.front())) ++end;
  return first_of(entries, end);
}

std::vector<StepPoint> step_points(const DumpIndex& dump, std::span<const SeriesEntry> series) {
  std::vector<StepPoint> points;
  for (size_t begin = 0; begin < series.size();) {
    Sums sums;
    size_t end = begin;
    for (; end < series.size() && series[end].step == series[begin].step; ++end) sums.add(dump.rows()[series[end].row], series[end].row);
    points.push_back(sums.finished());
    begin = end;
  }
  return points;
}

}  // namespace tensortap
