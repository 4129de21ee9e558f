// Statistics of a tensor in one pass over its data.
//
// One source, compiled for every instruction set that highway knows and chosen at run time. Every choice equals the scalar reference:
// counts and extremes exactly; sums (mean, std, L2) within the bound of docs/statistics.md.

#ifndef TENSORTAP_STATS_STATS_H_
#define TENSORTAP_STATS_STATS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

class SketchBuilder;  // stats/sketch.h

// Which values enter min, max, mean, std, L2 and absmax when NaN or Inf is present. Counts are never affected.
enum class NonFinitePolicy : uint8_t {
  kSkipNan,        // NaN is left out, Inf counts (our default): min of {1, NaN, -Inf} is -Inf
  kPropagate,      // as NumPy: any NaN makes them NaN
  kSkipNonFinite,  // NaN and Inf are left out
};
std::optional<NonFinitePolicy> policy_from_name(std::string_view name);  // "skip-nan", "propagate", "skip-nonfinite"

// Runs task(context, i) for i in [0, count) and returns when all are done; the runtime's own pool, or null for none.
struct ParallelFor {
  void (*run)(void* pool, void (*task)(void* context, size_t index), size_t count, void* context) = nullptr;
  void* pool = nullptr;
};

struct StatsOptions {
  uint32_t wanted = kStatFull;  // Stat bits; first_nonfinite and the exact integer extremes come along
  NonFinitePolicy policy = NonFinitePolicy::kSkipNan;
  uint64_t sample_limit = 0;  // > 0: look at no more than about this many elements, in evenly spread blocks (kStatSampled is set)
  ParallelFor parallel_for;
  SketchBuilder* sketch = nullptr;  // gets all elements in the same pass, on one thread; not with a sample
};

// Computes the wanted statistics. `view` may have any strides, any alignment and no elements (then counts are 0 and the others NaN).
// Complex numbers count by modulus, as NumPy's abs: min, max, mean, std and L2 of |z|; NaN and Inf when either part is. String tensors and
// null data give `valid` 0. No allocation for contiguous views. Thread-safe.
TensorStats compute_stats(const TensorView& view, const StatsOptions& options);

// The same by a plain loop in double, one element at a time: what every kernel is held against.
TensorStats compute_stats_reference(const TensorView& view, const StatsOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_STATS_STATS_H_
