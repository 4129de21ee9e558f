// The results of one instruction set's kernels for one block of packed elements, and the table that finds the kernels.

#ifndef TENSORTAP_STATS_BLOCK_KERNELS_H_
#define TENSORTAP_STATS_BLOCK_KERNELS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "stats/nonfinite_patterns.h"
#include "tensor/dtype.h"

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

// `data` may have any alignment; `count` is at most kBlockElements. Adds nothing to `sums` but sets all of it.
using BlockKernel = void (*)(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums);

// Sums of a block's finite elements, whatever the shift.
struct BlockMagnitudes {
  double sum = 0;          // of |x|; not finite where double cannot hold it
  uint64_t subnormal = 0;  // in the type of the elements
};

// As BlockKernel.
using MagnitudeKernel = void (*)(const void* data, uint64_t count, BlockMagnitudes& found);

struct KernelTable {
  std::string_view name;
  // By dtype; null where the statistics come from counting bytes (8-bit floats, packed types) or from moduli (complex).
  //
  // The fast kernel of a floating type assumes that all elements are finite and that their squares neither overflow nor underflow. If
  // `squares` is not finite, or very small, this may be wrong, and the careful kernel has to look again. Integers have the same kernel in
  // both tables.
  std::array<BlockKernel, kDTypeCount> fast{};
  std::array<BlockKernel, kDTypeCount> careful{};
  std::array<MagnitudeKernel, kDTypeCount> magnitudes{};
  std::array<NonFiniteKernel, kDTypeCount> nonfinite = nonfinite_kernels<ScalarNonFinite>();
};

// The tables that this machine can run, the best first. Empty on none.
std::span<const KernelTable* const> available_kernels();

}  // namespace tensortap

#endif  // TENSORTAP_STATS_BLOCK_KERNELS_H_
