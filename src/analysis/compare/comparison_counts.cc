// Counts what DumpComparison says of each pair of records.

#include <algorithm>
#include <cmath>
#include <optional>

#include "compare/dump_comparison.h"

namespace tensortap {

void DumpComparison::count_birth(const ComparedValue& value, const ComparisonSummary::Place& place) {
  switch (value.birth) {
    case Birth::kBorn: {
      const OpId op = b_.dump().rows()[value.row_b].op;
      if (!born_[op]) summary_.born.push_back(place);
      born_[op] = true;
      break;
    }
    case Birth::kInherited:
      ++summary_.inherited;
      if (std::isfinite(place.growth) && place.growth > summary_.largest_growth.growth) summary_.largest_growth = place;
      break;
    case Birth::kUnknown:
      ++summary_.unknown;
      break;
    case Birth::kNone:
    case Birth::kGiven:
      break;
  }
}

void DumpComparison::count_not_comparable(const ComparedValue& value) {
  if (summary_.first_reason.empty()) summary_.first_reason = value.reason;
  if (value.judgement.finding != Finding::kOtherSize) {
    if (!value.other_place && summary_.uncompared++ == 0) summary_.first_uncompared = value.reason;
    return;
  }
  ++summary_.other_sizes;
  const bool given = b_.at(b_.value_of(value.row_b)).given;
  if (given && !summary_.other_shape) summary_.other_shape = OtherShape{value.row_a, value.row_b, true};
  if (!given) count_finding(value);
}

void DumpComparison::count(const ComparedValue& value) {
  ++summary_.records;
  const bool given = b_.at(b_.value_of(value.row_b)).given;
  ++(given ? summary_.given : summary_.verdicts)[static_cast<size_t>(value.verdict)];
  if (!given && value.basis.floor > 0) ++summary_.with_noise;
  if (value.verdict == Verdict::kNotComparable) count_not_comparable(value);
  if (value.unreadable && summary_.unreadable++ == 0) summary_.first_unreadable = value.reason;
  summary_.addresses += value.judgement.addresses ? 1 : 0;
  if (is_alike(value.verdict) || value.verdict == Verdict::kNotComparable || value.judgement.addresses) return;
  const std::optional<uint64_t> at = value.data ? value.data->first_differing : std::nullopt;
  const ComparisonSummary::Place place{value.row_a, value.row_b, value.error, at, value.growth()};
  if (given) {
    if (summary_.first_given.row_b == kNoRow) summary_.first_given = place;
    if (value.judgement.finding != Finding::kNone && !summary_.given_culprit) summary_.given_culprit = value;
    return;
  }
  if (std::isfinite(value.error)) summary_.largest_error = std::max(summary_.largest_error, value.error);
  if (value.basis.floor > 0) summary_.largest_noise_ratio = std::max(summary_.largest_noise_ratio, value.error / value.basis.floor);
  if (summary_.first.row_b == kNoRow) summary_.first = place;
  if (is_outside(value.verdict) && summary_.first_outside.row_b == kNoRow) summary_.first_outside = place;
  count_birth(value, place);
  count_finding(value);
}

void DumpComparison::count_finding(const ComparedValue& value) {
  if (value.judgement.finding != Finding::kNone && !value.judgement.follows) summary_.add_root(value);
}

}  // namespace tensortap
