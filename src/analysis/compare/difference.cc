#include "compare/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensortap {

uint64_t Difference::outside_at(int power) const {
  const auto first = static_cast<size_t>(std::clamp(static_cast<int>(kFirstOutsideBin) + power, 1, static_cast<int>(kToleranceBins) - 1));
  uint64_t count = 0;
  for (size_t i = first; i < kToleranceBins; ++i) count += tolerance_histogram[i];
  return count;
}

double Difference::tolerance_factor(double share) const {
  uint64_t total = 0;
  for (const uint64_t count : tolerance_histogram) total += count;
  uint64_t within = 0;
  for (size_t i = 0; i + 1 < kToleranceBins; ++i) {
    within += tolerance_histogram[i];
    if (static_cast<double>(within) >= share * static_cast<double>(total)) {
      return std::ldexp(1.0, static_cast<int>(i) - static_cast<int>(kFirstOutsideBin) + 1);
    }
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace tensortap
