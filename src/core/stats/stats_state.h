// What is known of the blocks seen so far: mergeable, independent of the policy for NaN and Inf, which finish() applies.

#ifndef TENSORTAP_STATS_STATS_STATE_H_
#define TENSORTAP_STATS_STATS_STATE_H_

#include <cstdint>

#include "stats/block_kernels.h"
#include "stats/stats.h"

namespace tensortap {

// Plain data. Thread-compatible.
struct StatsState {
  uint64_t count = 0;   // elements looked at
  uint64_t finite = 0;  // of them neither NaN nor Inf; the sums and extremes below are theirs
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double squares = 0;
  double deviations = 0;  // sum of squared distances from sum / finite
  int64_t min_integer = 0;
  int64_t max_integer = 0;
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  uint64_t zero = 0;
  uint64_t neg_zero = 0;
  uint64_t negative = 0;   // finite ones
  double magnitudes = 0;   // sum of those of the finite elements, where asked for
  uint64_t subnormal = 0;  // where asked for
  int64_t first_nonfinite = -1;
  // Some square left the range of double: only the reference can compute the sums.
  bool out_of_range = false;
};

// Adds a block whose elements were moved by `shift` before they were summed.
void add_block(const BlockSums& block, double shift, bool is_unsigned, StatsState& state);

// Adds another part of the same tensor. `is_unsigned`: the integer extremes are uint64.
void merge(const StatsState& other, bool is_unsigned, StatsState& state);

// The statistics of all that was added. `valid` and `count` are set from `wanted` and the state.
TensorStats finish(const StatsState& state, uint32_t valid, NonFinitePolicy policy);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_STATS_STATE_H_
