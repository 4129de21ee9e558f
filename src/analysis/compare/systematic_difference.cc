#include "compare/systematic_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tensortap {

bool is_systematic(const Difference& difference) {
  constexpr uint64_t kLeast = 8;
  constexpr double kErrors = 8;  // standard errors
  if (difference.differing < kLeast || !(difference.l2_b > 0) || difference.finite == 0) return false;
  const auto count = static_cast<double>(difference.finite);
  const double squares = difference.l2_b * difference.l2_b;
  const double distance = difference.mse * count;
  const double slope = (difference.l2_a * difference.l2_a - squares - distance) / (2 * squares);
  const double rest = std::max(distance - slope * slope * squares, 0x1p-40 * distance);
  return std::abs(slope) * difference.l2_b > kErrors * std::sqrt(rest / count) ||
         std::abs(difference.mean) * std::sqrt(count) > kErrors * difference.rmse;
}

}  // namespace tensortap
