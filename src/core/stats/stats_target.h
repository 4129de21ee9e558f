// The instruction set in use.

#ifndef TENSORTAP_STATS_STATS_TARGET_H_
#define TENSORTAP_STATS_STATS_TARGET_H_

#include <string_view>
#include <vector>

#include "stats/block_kernels.h"

namespace tensortap {

// Name of the instruction set in use ("AVX3", "AVX2", "SSE4", "scalar") and of all that this machine can run.
std::string_view stats_target();
std::vector<std::string_view> stats_targets();
// Makes later calls use one of stats_targets(); false when it is not one. For tests and TENSORTAP_SIMD. Not thread-safe.
bool set_stats_target(std::string_view name);

// The table in use, chosen at the first call (TENSORTAP_SIMD, else the best); null when it is the scalar reference. Thread-safe.
const KernelTable* kernels_in_use();

// The kernel of the set in use; null for types without NaN and Inf. Thread-safe.
NonFiniteKernel nonfinite_kernel(DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_STATS_TARGET_H_
