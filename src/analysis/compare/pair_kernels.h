// What the instruction sets compute of a block of pairs, and the table that finds them.

#ifndef TENSORTAP_COMPARE_PAIR_KERNELS_H_
#define TENSORTAP_COMPARE_PAIR_KERNELS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "compare/pair_block.h"
#include "stats/stats_target.h"
#include "tensor/dtype.h"

namespace tensortap {

// All of them take whole vectors and leave the rest: they return how many elements they took. Every pair has to be finite on both sides;
// `sums` that are not finite say that this was not so, and mean nothing.

// Sets `sums` and a bin for each pair that it took. `count` is at most kPairBlock.
using PairKernel = uint64_t (*)(const void* a, const void* b, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins);
// The same of a piece.
using PieceKernel = uint64_t (*)(const PairPiece& piece, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins);
// Sets the sum of the squares.
using SquaresKernel = uint64_t (*)(const void* data, uint64_t count, double& squares);

struct PairKernelTable {
  std::string_view name;  // one of stats_targets()
  // By dtype; null for types that are decoded first.
  std::array<PairKernel, kDTypeCount> pairs{};
  std::array<SquaresKernel, kDTypeCount> squares{};
  PieceKernel piece = nullptr;
};

// The kernels of the instruction set that the statistics use (stats_target()); null when it is the scalar reference. Thread-safe.
const PairKernelTable* pair_kernels_in_use();

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIR_KERNELS_H_
