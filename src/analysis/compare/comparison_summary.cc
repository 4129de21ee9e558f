#include "compare/dump_comparison.h"

namespace tensortap {

uint64_t ComparisonSummary::differing() const {
  uint64_t all = 0;
  for (const Verdict verdict : {Verdict::kNoise, Verdict::kTolerated, Verdict::kDifferent, Verdict::kNonFinite}) all += count(verdict);
  return all;
}

bool ComparisonSummary::outside() const {
  for (size_t i = 0; i < kVerdicts; ++i) {
    if (is_outside(static_cast<Verdict>(i)) && verdicts[i] + given[i] > 0) return true;
  }
  return other_sizes > 0;
}

uint64_t ComparisonSummary::judged() const {
  constexpr auto kNot = static_cast<size_t>(Verdict::kNotComparable);
  return records - verdicts[kNot] - given[kNot];
}

void ComparisonSummary::add_root(const ComparedValue& value) {
  ++roots;
  const bool grew = value.judgement.finding == Finding::kGrown;
  const bool only_grew = culprit && culprit->judgement.finding == Finding::kGrown;
  if (!culprit || (only_grew && !grew)) {
    culprit = value;
    further.clear();
  } else if (further.size() < kMostFurther && (only_grew || !grew)) {
    further.push_back(value);
  }
}

}  // namespace tensortap
