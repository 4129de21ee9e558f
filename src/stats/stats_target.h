// The instruction set in use.

#ifndef TENSORTAP_STATS_STATS_TARGET_H_
#define TENSORTAP_STATS_STATS_TARGET_H_

#include "stats/block_kernels.h"

namespace tensortap {

// The table in use, chosen at the first call (TENSORTAP_SIMD, else the best); null when it is the scalar reference. Thread-safe.
const KernelTable* kernels_in_use();

// The kernel of the set in use; null for types without NaN and Inf. Thread-safe.
NonFiniteKernel nonfinite_kernel(DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_STATS_TARGET_H_
