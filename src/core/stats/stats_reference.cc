// The reference: one element at a time, sums in long double, the standard deviation from a second pass. Slow on purpose.

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "stats/block_plan.h"
#include "stats/modulus.h"
#include "stats/stats.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kReferencePiece = 256;
constexpr uint64_t kReferencePieceBytes = kReferencePiece * 16;

// Calls visit(flat index, value, integer value) for each element of the plan.
template <class Visit>
void for_each_element(const TensorView& view, const BlockPlan& plan, const Visit& visit) {
  const DType dtype = view.desc.dtype;
  const DTypeKind kind = dtype_info(dtype).kind;
  std::array<std::byte, kReferencePieceBytes> packed;
  std::array<double, kReferencePiece> values;
  std::array<int64_t, kReferencePiece> integers{};
  for (uint64_t b = 0; b < plan.blocks(); ++b) {
    const BlockRange block = plan.block(b);
    for (uint64_t done = 0; done < block.count; done += kReferencePiece) {
      const uint64_t count = std::min(kReferencePiece, block.count - done);
      copy_packed_range(view, block.begin + done, count, packed.data());
      if (kind == DTypeKind::kComplex) {
        to_moduli(dtype, packed.data(), 0, count, values.data());
      } else {
        to_float64(dtype, packed.data(), 0, count, values.data());
        to_int64(dtype, packed.data(), 0, count, integers.data());
      }
      for (uint64_t i = 0; i < count; ++i) visit(block.begin + done + i, values[i], integers[i]);
    }
  }
}

void count_element(uint64_t index, double value, double smallest_normal, TensorStats& stats) {
  ++stats.count;
  stats.nan += std::isnan(value) ? 1 : 0;
  stats.pos_inf += std::isinf(value) && value > 0 ? 1 : 0;
  stats.neg_inf += std::isinf(value) && value < 0 ? 1 : 0;
  stats.zero += value == 0 ? 1 : 0;
  stats.neg_zero += value == 0 && std::signbit(value) ? 1 : 0;
  stats.positive += value > 0 ? 1 : 0;
  stats.negative += value < 0 ? 1 : 0;
  stats.subnormal += value != 0 && std::abs(value) < smallest_normal ? 1 : 0;
  if (!std::isfinite(value) && stats.first_nonfinite < 0) stats.first_nonfinite = static_cast<int64_t>(index);
}

bool enters(double value, NonFinitePolicy policy) {
  if (policy == NonFinitePolicy::kPropagate) return true;
  if (policy == NonFinitePolicy::kSkipNan) return !std::isnan(value);
  return std::isfinite(value);
}

struct Sums {
  uint64_t count = 0;
  long double sum = 0;
  long double squares = 0;
  long double magnitudes = 0;
  bool has_nan = false;
};

void add_value(double value, Sums& sums, TensorStats& stats) {
  if (std::isnan(value)) {
    sums.has_nan = true;
    return;
  }
  const bool first = sums.count == 0;
  ++sums.count;
  if (first || value < stats.min) stats.min = value;
  if (first || value > stats.max) stats.max = value;
  if (first || std::abs(value) > stats.absmax) stats.absmax = std::abs(value);
  sums.sum += value;
  sums.squares += static_cast<long double>(value) * value;
  sums.magnitudes += std::abs(value);
}

void add_integer(int64_t value, bool is_first, bool is_unsigned, TensorStats& stats) {
  const auto less = [&](int64_t a, int64_t b) { return is_unsigned ? std::bit_cast<uint64_t>(a) < std::bit_cast<uint64_t>(b) : a < b; };
  if (is_first || less(value, stats.min_integer)) stats.min_integer = value;
  if (is_first || less(stats.max_integer, value)) stats.max_integer = value;
}

}  // namespace

TensorStats compute_stats_reference(const TensorView& view, const StatsOptions& options) {
  TensorStats stats;
  const DTypeInfo& info = dtype_info(view.desc.dtype);
  const auto numel = view.desc.shape.numel();
  if (info.bits == 0 || !numel || (view.data == nullptr && *numel > 0)) return stats;
  const BlockPlan plan(*numel, options.sample_limit);
  stats.valid = (options.wanted & kStatAll) | (plan.sampled() ? kStatSampled : 0U);
  const bool is_integer = info.kind == DTypeKind::kBool || info.kind == DTypeKind::kSigned || info.kind == DTypeKind::kUnsigned;
  const double smallest_normal = float_limits(info.dtype).smallest_normal;
  Sums sums;
  for_each_element(view, plan, [&](uint64_t index, double value, int64_t integer) {
    if (is_integer) add_integer(integer, stats.count == 0, info.kind != DTypeKind::kSigned, stats);
    count_element(index, value, smallest_normal, stats);
    if (enters(value, options.policy)) add_value(value, sums, stats);
  });
  if (sums.has_nan || sums.count == 0) {
    stats.min = stats.max = stats.absmax = std::numeric_limits<double>::quiet_NaN();
    return stats;
  }
  // Minus zero is an extreme like zero: which of them came first must not show.
  stats.min += 0.0;
  stats.max += 0.0;
  const long double mean = sums.sum / static_cast<long double>(sums.count);
  long double deviations = 0;
  for_each_element(view, plan, [&](uint64_t, double value, int64_t) {
    if (enters(value, options.policy)) deviations += (value - mean) * (value - mean);
  });
  stats.mean = static_cast<double>(mean);
  stats.std = static_cast<double>(std::sqrt(deviations / static_cast<long double>(sums.count)));
  stats.l2 = static_cast<double>(std::sqrt(sums.squares));
  stats.mean_abs = static_cast<double>(sums.magnitudes / static_cast<long double>(sums.count));
  return stats;
}

}  // namespace tensortap
