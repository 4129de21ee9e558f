#include "session/measured_parts.h"

#include "stats/stats_state.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

StatsState state_of(const tensortap_measured& part, uint64_t begin) {
  StatsState state;
  state.count = static_cast<uint64_t>(part.elements);
  state.nan = static_cast<uint64_t>(part.nan);
  state.pos_inf = static_cast<uint64_t>(part.pos_inf);
  state.neg_inf = static_cast<uint64_t>(part.neg_inf);
  state.zero = static_cast<uint64_t>(part.zero);
  state.neg_zero = static_cast<uint64_t>(part.neg_zero);
  state.negative = static_cast<uint64_t>(part.negative);
  state.subnormal = static_cast<uint64_t>(part.subnormal);
  state.finite = state.count - state.nan - state.pos_inf - state.neg_inf;
  if (part.first_nonfinite >= 0) state.first_nonfinite = static_cast<int64_t>(begin) + part.first_nonfinite;
  if (state.finite == 0) return state;
  state.min = part.min;
  state.max = part.max;
  state.sum = part.sum;
  state.deviations = part.deviations;
  // Both summands are positive, so nothing cancels.
  state.squares = part.deviations + part.sum * (part.sum / static_cast<double>(state.finite));
  state.magnitudes = part.magnitudes;
  state.min_integer = part.min_integer;
  state.max_integer = part.max_integer;
  return state;
}

}  // namespace

uint32_t extras_of(const StatsOptions& options) {
  return ((options.wanted & kStatMeanAbs) != 0 ? TENSORTAP_MEASURE_MAGNITUDES : 0U) |
         ((options.wanted & kStatSubnormal) != 0 ? TENSORTAP_MEASURE_SUBNORMAL : 0U);
}

TensorStats join_parts(std::span<const tensortap_measured> parts, DType dtype, const StatsOptions& options) {
  const DTypeKind kind = dtype_info(dtype).kind;
  const bool is_unsigned = kind == DTypeKind::kUnsigned || kind == DTypeKind::kBool;
  StatsState state;
  for (const tensortap_measured& part : parts) merge(state_of(part, state.count), is_unsigned, state);
  return finish(state, options.wanted & kStatAll, options.policy);
}

}  // namespace tensortap
