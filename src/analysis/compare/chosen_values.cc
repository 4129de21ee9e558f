#include "compare/chosen_values.h"

#include <algorithm>
#include <cmath>

#include "compare/verdict.h"

namespace tensortap {

bool is_chosen(const ComparedValue& value, PairsOnly only) {
  if (only == PairsOnly::kDiffering) return !is_alike(value.verdict);
  return only == PairsOnly::kAll || is_outside(value.verdict);
}

double own_error(const ComparedValue& value) {
  return std::isnan(value.error) ? value.error : std::max(0.0, value.error - value.inherited);
}

double order_key(const ComparedValue& value, PairsSort sort, double own) {
  if (sort == PairsSort::kOrder) return 0;
  if (std::isnan(value.error)) return 1;
  return sort == PairsSort::kError ? -value.error : -own;
}

}  // namespace tensortap
