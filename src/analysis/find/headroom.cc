#include "find/headroom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "query/op_facts.h"
#include "stats/histogram.h"
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

std::vector<uint64_t> histogram_of(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  return record.histogram > 0 || record.stats.valid == 0 ? dump.histogram(row) : std::vector<uint64_t>();
}

// The largest finite magnitude: from the statistics, else from the data, else bounded by the histogram.
std::optional<double> finite_absmax(const DumpIndex& dump, size_t row) {
  const TensorStats& stats = dump.rows()[row].stats;
  if ((stats.valid & kStatAbsMax) != 0 && std::isfinite(stats.absmax)) return stats.absmax;
  constexpr uint32_t kExtremes = kStatMin | kStatMax;
  if ((stats.valid & kExtremes) == kExtremes && std::isfinite(stats.min) && std::isfinite(stats.max)) {
    return std::max(std::abs(stats.min), std::abs(stats.max));
  }
  if (const std::optional<double> absmax = finite_absmax_of_data(dump, row)) return absmax;
  const std::vector<uint64_t> histogram = histogram_of(dump, row);
  for (int bin = histogram.size() == kHistogramNumbers ? ExponentHistogram::kBins - 1 : -1; bin >= 0; --bin) {
    if (histogram[static_cast<size_t>(bin)] > 0) return std::ldexp(1.0, bin + ExponentHistogram::kLowestExponent + 1);
  }
  return std::nullopt;
}

// The known magnitudes of a record, for any target type.
struct Magnitudes {
  std::optional<double> absmax;  // of the finite values
  bool holds_inf = false;
};

// Nothing when the record has no floating values, or nothing is known of them.
std::optional<Magnitudes> magnitudes_of(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  if (!is_floating(static_cast<DType>(record.dtype)) || record.numel == 0) return std::nullopt;
  const bool counted = (record.stats.valid & (kStatPosInf | kStatNegInf)) == (kStatPosInf | kStatNegInf);
  Magnitudes found;
  found.holds_inf = (counted && record.stats.pos_inf + record.stats.neg_inf > 0) || std::isinf(record.stats.absmax);
  found.absmax = finite_absmax(dump, row);
  return found.absmax || found.holds_inf ? std::optional(found) : std::nullopt;
}

std::optional<double> binades_to(const TypeRange& range, const Magnitudes& magnitudes) {
  if (!magnitudes.absmax || !(*magnitudes.absmax > 0)) return std::nullopt;
  return std::log2(range.largest / *magnitudes.absmax);
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

Headroom measured(size_t row, const Magnitudes& magnitudes, const std::vector<uint64_t>& histogram, const TypeRange& range) {
  Headroom headroom;
  headroom.row = row;
  headroom.absmax = magnitudes.absmax;
  headroom.holds_inf = magnitudes.holds_inf;
  headroom.binades = binades_to(range, magnitudes);
  headroom.overflows = headroom.binades && *headroom.absmax >= range.becomes_inf;
  set_shares(histogram, range, headroom);
  return headroom;
}

// Less is worse. Only Inf known is the worst, all zero the best.
double badness_order(const Headroom& headroom) {
  if (!headroom.absmax) return -std::numeric_limits<double>::infinity();
  return headroom.binades.value_or(std::numeric_limits<double>::infinity());
}

// The worst record of each slot.
class WorstOfSlots {
 public:
  explicit WorstOfSlots(DType target) : range_(range_of(target)) {}
  void add(const RecordRow& record, size_t row, const Magnitudes& magnitudes, const std::vector<uint64_t>& histogram) {
    Headroom headroom = measured(row, magnitudes, histogram, range_);
    const uint64_t key = uint64_t{record.op} << 32 | uint64_t{record.slot_kind} << 16 | record.slot_index;
    const auto [place, is_new] = places_.emplace(key, found_.size());
    if (is_new) {
      headroom.records = 1;
      found_.push_back(headroom);
      return;
    }
    Headroom& worst = found_[place->second];
    headroom.records = ++worst.records;
    if (badness_order(headroom) < badness_order(worst)) worst = headroom;
  }
  std::vector<Headroom> take() {
    std::ranges::stable_sort(found_, {}, badness_order);
    return std::move(found_);
  }

 private:
  TypeRange range_;
  std::vector<Headroom> found_;
  std::unordered_map<uint64_t, size_t> places_;
};

}  // namespace

std::vector<std::vector<Headroom>> find_headrooms(const DumpIndex& dump, std::span<const DType> targets) {
  std::vector<WorstOfSlots> worst;
  for (const DType target : targets) worst.emplace_back(target);
  const std::span<const RecordRow> rows = dump.rows();
  const OpFactsTable facts(dump);
  for (size_t row = 0; row < rows.size(); ++row) {
    if (facts.is_overwritten(rows[row])) continue;  // whatever was in that memory, no op computes with it
    const std::optional<Magnitudes> magnitudes = magnitudes_of(dump, row);
    if (!magnitudes) continue;
    const std::vector<uint64_t> histogram = histogram_of(dump, row);
    for (WorstOfSlots& one : worst) one.add(rows[row], row, *magnitudes, histogram);
  }
  std::vector<std::vector<Headroom>> found;
  for (WorstOfSlots& one : worst) found.push_back(one.take());
  return found;
}

std::vector<Headroom> find_headroom(const DumpIndex& dump, DType target) {
  return std::move(find_headrooms(dump, std::span(&target, 1)).front());
}

std::optional<double> headroom_binades(const DumpIndex& dump, size_t row, DType target) {
  const std::optional<Magnitudes> magnitudes = magnitudes_of(dump, row);
  if (!magnitudes) return std::nullopt;
  if (!magnitudes->absmax) return -std::numeric_limits<double>::infinity();
  return binades_to(range_of(target), *magnitudes);
}

}  // namespace tensortap
