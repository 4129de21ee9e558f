// Whether a tensor holds NaN or Inf, and nothing else of it: what the overflow trigger asks of every value.

#ifndef TENSORTAP_STATS_NONFINITE_H_
#define TENSORTAP_STATS_NONFINITE_H_

#include <cstddef>

#include "stats/stats.h"
#include "tensor/tensor.h"

namespace tensortap {

// Looks at every element, until the first block that holds one. `view` may have any strides and any alignment; without data, without
// elements, and of types that have neither NaN nor Inf the answer is false. A complex number counts when either part does. No allocation.
// Thread-safe.
bool has_nonfinite(const TensorView& view, const ParallelFor& parallel_for = {});

// The same of elements that are copied on the way, packed, to `target`: the memory is read once. Once NaN or Inf was met the rest of the
// copy may be missing. Not for strings.
bool copy_until_nonfinite(const TensorView& view, std::byte* target, const ParallelFor& parallel_for = {});

}  // namespace tensortap

#endif  // TENSORTAP_STATS_NONFINITE_H_
