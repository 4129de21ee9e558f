// The results of one block of packed elements.

#ifndef TENSORTAP_STATS_BLOCK_SUMS_H_
#define TENSORTAP_STATS_BLOCK_SUMS_H_

#include <cstdint>
#include <limits>

namespace tensortap {

struct BlockRequest {
  // Subtracted from each element before it is summed and squared, so that a standard deviation far below the mean survives. Kernels of 8
  // and 16 bit integers are exact and ignore it.
  double shift = 0;
  // Whether zero, neg_zero and negative are wanted.
  bool counts = false;
};

// Sums of the finite elements of a block.
struct BlockSums {
  uint64_t finite = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;          // of x - shift
  double squares = 0;      // of (x - shift)^2
  double deviations = -1;  // sum of squared distances from the mean, where the kernel knows it exactly; else -1
  int64_t min_integer = 0;
  int64_t max_integer = 0;
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  uint64_t zero = 0;  // both signs
  uint64_t neg_zero = 0;
  uint64_t negative = 0;
};

// Sums of a block's finite elements, whatever the shift.
struct BlockMagnitudes {
  double sum = 0;          // of |x|; not finite where double cannot hold it
  uint64_t subnormal = 0;  // in the type of the elements
};

}  // namespace tensortap

#endif  // TENSORTAP_STATS_BLOCK_SUMS_H_
