// The kernels of one instruction set for one block of packed elements, and the table that finds them.

#ifndef TENSORTAP_STATS_BLOCK_KERNELS_H_
#define TENSORTAP_STATS_BLOCK_KERNELS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "stats/block_sums.h"
#include "stats/nonfinite_patterns.h"
#include "tensor/dtype.h"

namespace tensortap {

// `data` may have any alignment; `count` is at most kBlockElements. Adds nothing to `sums` but sets all of it.
using BlockKernel = void (*)(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums);

// As BlockKernel.
using MagnitudeKernel = void (*)(const void* data, uint64_t count, BlockMagnitudes& found);

// As BlockKernel, exact; false, with `sums` in any state, where the block has NaN or Inf.
using CodeKernel = bool (*)(const void* data, uint64_t count, BlockSums& sums);

struct KernelTable {
  std::string_view name;
  // By dtype; null where the statistics come from counting patterns (8-bit floats, packed types) or from moduli (complex).
  //
  // The fast kernel of a floating type assumes that all elements are finite and that their squares neither overflow nor underflow. If
  // `squares` is not finite, or very small, this may be wrong, and the careful kernel has to look again. Integers have the same kernel in
  // both tables.
  std::array<BlockKernel, kDTypeCount> fast{};
  std::array<BlockKernel, kDTypeCount> careful{};
  std::array<MagnitudeKernel, kDTypeCount> magnitudes{};
  // Of types whose patterns are counted where this is null or leaves a block.
  std::array<CodeKernel, kDTypeCount> codes{};
  std::array<NonFiniteKernel, kDTypeCount> nonfinite = nonfinite_kernels<ScalarNonFinite>();
};

// The tables that this machine can run, the best first. Empty on none.
std::span<const KernelTable* const> available_kernels();

}  // namespace tensortap

#endif  // TENSORTAP_STATS_BLOCK_KERNELS_H_
