// What is said of one pair of records.

#ifndef TENSORTAP_COMPARE_VERDICT_H_
#define TENSORTAP_COMPARE_VERDICT_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "compare/difference.h"
#include "compare/statistics_difference.h"

namespace tensortap {

enum class Verdict : uint8_t {
  kEqual,           // every element is the same
  kSameStatistics,  // one side has no data, and no statistic differs
  kNoise,           // no more than 3 times what other runs of the same program differ by
  kTolerated,       // within the tolerance
  kDifferent,       // outside of it
  kNonFinite,       // NaN or Inf on one side only
  kNotComparable,   // other sizes or types, or nothing known on one side
};
inline constexpr size_t kVerdicts = 7;
// "equal", "same statistics", "noise", "tolerated", "different", "non-finite", "not comparable"
std::string_view verdict_name(Verdict verdict);
// No difference is known.
inline bool is_alike(Verdict verdict) { return verdict == Verdict::kEqual || verdict == Verdict::kSameStatistics; }
// Whether a verdict makes the comparison as a whole fail.
inline bool is_outside(Verdict verdict) { return verdict == Verdict::kDifferent || verdict == Verdict::kNonFinite; }

// The basis of a verdict beside the difference itself.
struct VerdictBasis {
  bool by_rules = false;                                    // elements were counted by a rule of the user: none may be outside
  double relative_l2 = 0;                                   // that is tolerated otherwise
  double floor = std::numeric_limits<double>::quiet_NaN();  // relative L2 of other runs of the program; NaN = not known
};

Verdict verdict_of(const Difference& difference, const VerdictBasis& basis);

// The statistic that differs most of two records of which one has no data, by how much the largest magnitude among the values of b is.
struct StatisticsGap {
  double largest = 0;          // l2 is relative to itself
  std::string_view statistic;  // "" where none differs
};
StatisticsGap largest_gap(const StatisticsDifference& difference);
// Equal only by digests, however well the statistics agree.
Verdict verdict_of(const StatisticsDifference& difference, const VerdictBasis& basis, const ToleranceRule& rule);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_VERDICT_H_
