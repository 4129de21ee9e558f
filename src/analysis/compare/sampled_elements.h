// How far two tensors are apart, by a sample of their elements. Private to this folder.

#ifndef TENSORTAP_COMPARE_SAMPLED_ELEMENTS_H_
#define TENSORTAP_COMPARE_SAMPLED_ELEMENTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tensortap {

inline constexpr double kFarApart = std::numeric_limits<double>::infinity();

// Relative L2 of a - b over at most 4,096 of `count` elements that are spread evenly, those that are finite on both sides; kFarApart where
// all of B are 0 and those of A are not. read(index, x, y) gives the elements of one place.
template <typename Read>
double sampled_distance(uint64_t count, const Read& read) {
  constexpr uint64_t kMostLooks = 4096;
  const uint64_t looks = std::min(count, kMostLooks);
  double squares = 0;
  double reference = 0;
  for (uint64_t i = 0; i < looks; ++i) {
    // Not all in one column: the distance has a part that is no whole number.
    const auto index = static_cast<uint64_t>(static_cast<double>(i) * static_cast<double>(count) / static_cast<double>(looks));
    double x = 0;
    double y = 0;
    read(index, x, y);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    squares += (x - y) * (x - y);
    reference += y * y;
  }
  if (squares == 0) return 0;
  return reference == 0 ? kFarApart : std::sqrt(squares / reference);
}

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SAMPLED_ELEMENTS_H_
