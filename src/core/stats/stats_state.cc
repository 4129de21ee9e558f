#include "stats/stats_state.h"

#include <algorithm>
#include <cmath>

namespace tensortap {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void merge_integers(const StatsState& other, bool is_unsigned, StatsState& state) {
  if (state.finite == 0) {
    state.min_integer = other.min_integer;
    state.max_integer = other.max_integer;
  } else if (is_unsigned) {
    state.min_integer = static_cast<int64_t>(std::min(static_cast<uint64_t>(state.min_integer), static_cast<uint64_t>(other.min_integer)));
    state.max_integer = static_cast<int64_t>(std::max(static_cast<uint64_t>(state.max_integer), static_cast<uint64_t>(other.max_integer)));
  } else {
    state.min_integer = std::min(state.min_integer, other.min_integer);
    state.max_integer = std::max(state.max_integer, other.max_integer);
  }
}

// The pairwise update of Chan, Golub and LeVeque (1979): what the distance of the two means adds.
double deviation_of_means(const StatsState& a, const StatsState& b) {
  if (a.finite == 0 || b.finite == 0) return 0;
  const auto count_a = static_cast<double>(a.finite);
  const auto count_b = static_cast<double>(b.finite);
  const double distance = b.sum / count_b - a.sum / count_a;
  return distance * distance * (count_a / (count_a + count_b)) * count_b;
}

}  // namespace

void add_block(const BlockSums& block, double shift, bool is_unsigned, StatsState& state) {
  StatsState added;
  const auto finite = static_cast<double>(block.finite);
  added.count = block.finite + block.nan + block.pos_inf + block.neg_inf;
  added.finite = block.finite;
  added.min = block.min;
  added.max = block.max;
  if (block.finite > 0) {
    if (block.min == block.max) {
      added.sum = finite * block.min;
      added.squares = added.sum * block.min;
    } else {
      added.sum = block.sum + shift * finite;
      added.deviations = block.deviations >= 0 ? block.deviations : std::max(0.0, block.squares - block.sum * (block.sum / finite));
      // About another point than zero, squares are put together again: both parts are positive, nothing cancels.
      added.squares = shift == 0 ? block.squares : added.deviations + added.sum * (added.sum / finite);
    }
  }
  added.min_integer = block.min_integer;
  added.max_integer = block.max_integer;
  added.nan = block.nan;
  added.pos_inf = block.pos_inf;
  added.neg_inf = block.neg_inf;
  added.zero = block.zero;
  added.neg_zero = block.neg_zero;
  added.negative = block.negative;
  merge(added, is_unsigned, state);
}

void merge(const StatsState& other, bool is_unsigned, StatsState& state) {
  state.deviations += other.deviations + deviation_of_means(state, other);
  if (other.finite > 0) merge_integers(other, is_unsigned, state);
  state.count += other.count;
  state.finite += other.finite;
  state.min = std::min(state.min, other.min);
  state.max = std::max(state.max, other.max);
  state.sum += other.sum;
  state.squares += other.squares;
  state.nan += other.nan;
  state.pos_inf += other.pos_inf;
  state.neg_inf += other.neg_inf;
  state.zero += other.zero;
  state.neg_zero += other.neg_zero;
  state.negative += other.negative;
  state.magnitudes += other.magnitudes;
  state.subnormal += other.subnormal;
  if (state.first_nonfinite < 0) state.first_nonfinite = other.first_nonfinite;
  state.out_of_range |= other.out_of_range;
}

TensorStats finish(const StatsState& state, uint32_t valid, NonFinitePolicy policy) {
  TensorStats stats;
  stats.valid = valid;
  stats.count = state.count;
  stats.nan = state.nan;
  stats.pos_inf = state.pos_inf;
  stats.neg_inf = state.neg_inf;
  stats.zero = state.zero;
  stats.neg_zero = state.neg_zero;
  stats.negative = state.negative + state.neg_inf;
  stats.positive = state.finite - state.zero - state.negative + state.pos_inf;
  stats.subnormal = state.subnormal;
  stats.min_integer = state.min_integer;
  stats.max_integer = state.max_integer;
  stats.first_nonfinite = state.first_nonfinite;
  const bool has_infinity = policy != NonFinitePolicy::kSkipNonFinite && state.pos_inf + state.neg_inf > 0;
  if (policy == NonFinitePolicy::kPropagate && state.nan > 0) return stats;
  if (state.finite == 0 && !has_infinity) return stats;
  const auto finite = static_cast<double>(state.finite);
  // Adding zero makes +0 of -0: which of them came first must not show.
  stats.min = state.min + 0.0;
  stats.max = state.max + 0.0;
  if (!has_infinity) {
    stats.mean = state.sum / finite;
    stats.std = std::sqrt(state.deviations / finite);
    stats.l2 = std::sqrt(state.squares);
    stats.absmax = std::max(std::abs(state.min), std::abs(state.max));
    stats.mean_abs = state.magnitudes / finite;
    return stats;
  }
  if (state.finite == 0) {
    stats.min = kInfinity;
    stats.max = -kInfinity;
  }
  if (state.neg_inf > 0) stats.min = -kInfinity;
  if (state.pos_inf > 0) stats.max = kInfinity;
  const bool both = state.pos_inf > 0 && state.neg_inf > 0;
  stats.mean = both ? kNan : (state.pos_inf > 0 ? kInfinity : -kInfinity);
  stats.l2 = kInfinity;
  stats.absmax = kInfinity;
  stats.mean_abs = kInfinity;
  return stats;
}

}  // namespace tensortap
