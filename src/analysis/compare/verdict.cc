#include "compare/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tensortap {
namespace {

constexpr double kNoiseFactor = 3;

bool is_noise(double relative, const VerdictBasis& basis) { return !std::isnan(basis.floor) && relative <= kNoiseFactor * basis.floor; }

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, kVerdicts> kNames = {"equal",     "same statistics", "noise",         "tolerated",
                                                              "different", "non-finite",      "not comparable"};
  return kNames[static_cast<size_t>(verdict)];
}

Verdict verdict_of(const Difference& difference, const VerdictBasis& basis) {
  if (difference.differing == 0) return Verdict::kEqual;
  if (difference.nonfinite_differing > 0) return Verdict::kNonFinite;
  if (is_noise(difference.relative_l2, basis)) return Verdict::kNoise;
  if (basis.by_rules) return difference.outside == 0 ? Verdict::kTolerated : Verdict::kDifferent;
  return difference.relative_l2 <= basis.relative_l2 ? Verdict::kTolerated : Verdict::kDifferent;
}

StatisticsGap largest_gap(const StatisticsDifference& difference) {
  double scale = 0;
  for (size_t i = 0; i < kStatisticTable.size(); ++i) {
    const bool of_one_value = !kStatisticTable[i].is_count() && kStatisticTable[i].merge != StatisticMerge::kNorm;
    const StatisticDifference& one = difference.values[i];
    if (one.known && of_one_value && std::isfinite(one.b)) scale = std::max(scale, std::abs(one.b));
  }
  StatisticsGap gap;
  for (size_t i = 0; i < kStatisticTable.size(); ++i) {
    const StatisticDifference& one = difference.values[i];
    if (!one.known || kStatisticTable[i].is_count() || one.difference == 0) continue;
    double relative = kStatisticTable[i].merge == StatisticMerge::kNorm ? one.relative : std::abs(one.difference) / scale;
    if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
    if (relative > gap.largest) gap = {relative, kStatisticTable[i].name};
  }
  return gap;
}

Verdict verdict_of(const StatisticsDifference& difference, const VerdictBasis& basis, const ToleranceRule& rule) {
  if (difference.digest == DigestAnswer::kEqual) return Verdict::kEqual;
  if (difference.nonfinite_differs) return Verdict::kNonFinite;
  const StatisticsGap gap = largest_gap(difference);
  if (gap.statistic.empty() && difference.digest != DigestAnswer::kDifferent) return Verdict::kSameStatistics;
  const double largest = gap.largest;
  if (is_noise(largest, basis)) return Verdict::kNoise;
  return largest <= (basis.by_rules ? rule.relative : basis.relative_l2) ? Verdict::kTolerated : Verdict::kDifferent;
}

}  // namespace tensortap
