#include "find/headroom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "stats/stats.h"

namespace tensortap {
namespace {

// What a type can hold, in powers of two.
struct TypeRange {
  double largest;           // finite
  double becomes_inf;       // from here on a value is rounded to Inf
  int top_exponent;         // of `largest`
  int normal_exponent;      // of the smallest normal value
  int zero_below_exponent;  // magnitudes below 2^this become 0
};

TypeRange range_of(DType target) {
  // Half a unit in the last place above the largest value rounds up (IEEE 754, nearest even).
  if (target == DType::kFloat16) return {65504.0, 65520.0, 15, -14, -25};
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, -7), 127);
  return {largest, largest + std::ldexp(1.0, 119), 127, -126, -134};
}

constexpr size_t kHistogramNumbers = static_cast<size_t>(ExponentHistogram::kBins) + 3;

// Counted values with an exponent in [from, to).
double count_between(const std::vector<uint64_t>& histogram, int from, int to) {
  double sum = 0;
  for (int bin = 0; bin < ExponentHistogram::kBins; ++bin) {
    const int exponent = bin + ExponentHistogram::kLowestExponent;
    if (exponent >= from && exponent < to) sum += static_cast<double>(histogram[static_cast<size_t>(bin)]);
  }
  return sum;
}

std::optional<double> finite_absmax_of_data(const DumpIndex& dump, size_t row) {
  if ((dump.rows()[row].flags & kRecordHasData) == 0) return std::nullopt;
  const Result<RecordData> data = dump.data(row);
  if (!data.ok()) return std::nullopt;
  StatsOptions options;
  options.wanted = kStatAbsMax | kStatNonFinite;
  options.policy = NonFinitePolicy::kSkipNonFinite;
  const TensorStats stats = compute_stats(data->view, options);
  if ((stats.valid & kStatAbsMax) == 0 || !std::isfinite(stats.absmax)) return std::nullopt;
  return stats.absmax;
}

// The largest finite magnitude: from the statistics, else from the data, else bounded by the histogram.
std::optional<double> finite_absmax(const DumpIndex& dump, size_t row, const std::vector<uint64_t>& histogram) {
  const TensorStats& stats = dump.rows()[row].stats;
  if ((stats.valid & kStatAbsMax) != 0 && std::isfinite(stats.absmax)) return stats.absmax;
  constexpr uint32_t kExtremes = kStatMin | kStatMax;
  if ((stats.valid & kExtremes) == kExtremes && std::isfinite(stats.min) && std::isfinite(stats.max)) {
    return std::max(std::abs(stats.min), std::abs(stats.max));
  }
  if (const std::optional<double> absmax = finite_absmax_of_data(dump, row)) return absmax;
  for (int bin = histogram.size() == kHistogramNumbers ? ExponentHistogram::kBins - 1 : -1; bin >= 0; --bin) {
    if (histogram[static_cast<size_t>(bin)] > 0) return std::ldexp(1.0, bin + ExponentHistogram::kLowestExponent + 1);
  }
  return std::nullopt;
}

void set_shares(const std::vector<uint64_t>& histogram, const TypeRange& range, Headroom& headroom) {
  if (histogram.size() != kHistogramNumbers) return;
  constexpr int kAbove = ExponentHistogram::kLowestExponent + ExponentHistogram::kBins;
  const double all = count_between(histogram, ExponentHistogram::kLowestExponent, kAbove);
  if (all == 0) return;
  headroom.overflow_share = count_between(histogram, range.top_exponent + 1, kAbove) / all;
  headroom.subnormal_share = count_between(histogram, ExponentHistogram::kLowestExponent, range.normal_exponent) / all;
  headroom.zero_share = count_between(histogram, ExponentHistogram::kLowestExponent, range.zero_below_exponent) / all;
}

// False when nothing is known about the record's magnitudes.
bool measure(const DumpIndex& dump, size_t row, const TypeRange& range, Headroom& headroom) {
  const RecordRow& record = dump.rows()[row];
  const std::vector<uint64_t> histogram = record.histogram > 0 || record.stats.valid == 0 ? dump.histogram(row) : std::vector<uint64_t>();
  const bool counted = (record.stats.valid & (kStatPosInf | kStatNegInf)) == (kStatPosInf | kStatNegInf);
  headroom.row = row;
  headroom.holds_inf = (counted && record.stats.pos_inf + record.stats.neg_inf > 0) || std::isinf(record.stats.absmax);
  headroom.absmax = finite_absmax(dump, row, histogram);
  if (!headroom.absmax && !headroom.holds_inf) return false;
  if (headroom.absmax && *headroom.absmax > 0) {
    headroom.binades = std::log2(range.largest / *headroom.absmax);
    headroom.overflows = *headroom.absmax >= range.becomes_inf;
  }
  set_shares(histogram, range, headroom);
  return true;
}

// Less is worse. Only Inf known is the worst, all zero the best.
double badness_order(const Headroom& headroom) {
  if (!headroom.absmax) return -std::numeric_limits<double>::infinity();
  return headroom.binades.value_or(std::numeric_limits<double>::infinity());
}

}  // namespace

std::vector<Headroom> find_headroom(const DumpIndex& dump, DType target) {
  const TypeRange range = range_of(target);
  const std::span<const RecordRow> rows = dump.rows();
  std::vector<Headroom> found;
  std::unordered_map<uint64_t, size_t> places;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!is_floating(static_cast<DType>(rows[row].dtype)) || rows[row].numel == 0) continue;
    Headroom headroom;
    if (!measure(dump, row, range, headroom)) continue;
    const uint64_t key = uint64_t{rows[row].op} << 32 | uint64_t{rows[row].slot_kind} << 16 | rows[row].slot_index;
    const auto [place, is_new] = places.emplace(key, found.size());
    if (is_new) {
      headroom.records = 1;
      found.push_back(headroom);
      continue;
    }
    Headroom& worst = found[place->second];
    headroom.records = worst.records + 1;
    worst.records = headroom.records;
    if (badness_order(headroom) < badness_order(worst)) worst = headroom;
  }
  std::ranges::stable_sort(found, {}, badness_order);
  return found;
}

}  // namespace tensortap
