// Counts of a tensor's values by their magnitude.

#ifndef TENSORTAP_STATS_HISTOGRAM_H_
#define TENSORTAP_STATS_HISTOGRAM_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace tensortap {

// Counts of values by binary exponent of their magnitude. Mergeable by adding. Bin i holds |x| in [2^(i-150), 2^(i-149)); the first bin
// also holds everything smaller, the last everything larger; zeros, NaN and Inf are counted separately.
struct ExponentHistogram {
  static constexpr int kBins = 280;
  static constexpr int kLowestExponent = -150;
  uint64_t bins[kBins] = {};
  uint64_t zero = 0;
  uint64_t nan = 0;
  uint64_t inf = 0;
};
void add_to_histogram(const TensorView& view, ExponentHistogram& histogram);
void merge_histogram(const ExponentHistogram& other, ExponentHistogram& histogram);
// Bounds [low, high) of the magnitude below which the share `q` (0..1) of the counted non-zero finite values lies.
struct QuantileBounds {
  double low;
  double high;
};
QuantileBounds quantile_bounds(const ExponentHistogram& histogram, double q);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_HISTOGRAM_H_
