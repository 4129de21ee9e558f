#include "compare/rounding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// The ordinal of sign and magnitude: both zeros are 0.
template <class Bits>
int64_t signed_ordinal(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(kSign - 1));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

// A float from which rounding to fewer digits gives what rounding the double itself would: the last bit says whether anything was cut off.
float to_sticky_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

// Types of at most 8 bits: their values from 0 on, in order.
class SmallValues {
 public:
  explicit SmallValues(DType dtype) : is_unsigned_(dtype == DType::kFloat8E8M0) {
    const unsigned codes = 1U << (dtype_info(dtype).bits - (is_unsigned_ ? 0U : 1U));
    for (unsigned code = 0; code < codes; ++code) {
      const auto byte = static_cast<uint8_t>(code);
      double value = 0;
      to_float64(dtype, &byte, 0, 1, &value);
      if (std::isnan(value)) break;
      if (std::isinf(value)) {
        has_infinity_ = true;
        break;
      }
      values_[count_++] = value;
    }
  }

  // The place of the nearest value.
  [[nodiscard]] int64_t ordinal(double value) const {
    const double size = std::abs(value);
    const int64_t place = is_unsigned_ && value < 0 ? 0 : place_of(size);
    return std::signbit(value) ? -place : place;
  }

  [[nodiscard]] double value(int64_t ordinal) const {
    const auto place = static_cast<size_t>(std::abs(ordinal));
    const double size = place < count_ ? values_[place] : HUGE_VAL;
    return ordinal < 0 ? -size : size;
  }

 private:
  [[nodiscard]] int64_t place_of(double size) const {
    const double* end = values_.data() + count_;
    const double* above = std::upper_bound(values_.data(), end, size);
    if (above == values_.data()) return 0;
    const int64_t below = above - values_.data() - 1;
    if (above == end) return below + (beyond(size) ? 1 : 0);
    const double lower = *(above - 1);
    const double middle = lower + (*above - lower) / 2;
    return size > middle || (size == middle && below % 2 != 0) ? below + 1 : below;
  }

  // Whether a number from the largest value on rounds to infinity: from half a step above it on, since the largest is odd.
  [[nodiscard]] bool beyond(double size) const {
    if (!has_infinity_) return false;
    const double largest = values_[count_ - 1];
    return size >= largest + (largest - values_[count_ - 2]) / 2;
  }

  std::array<double, 256> values_{};
  size_t count_ = 0;
  bool is_unsigned_;
  bool has_infinity_ = false;
};

}  // namespace

int significand_digits(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 53;
    case DType::kFloat32:
      return 24;
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
      return 4;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 3;
    case DType::kFloat4E2M1:
      return 2;
    case DType::kFloat8E8M0:
      return 1;
    default:
      return 0;
  }
}

DType narrower(DType a, DType b) { return significand_digits(a) < significand_digits(b) ? a : b; }

void to_ordinals(DType dtype, std::span<const double> values, int64_t* ordinals) {
  switch (dtype) {
    case DType::kFloat64:
      std::ranges::transform(values, ordinals, [](double value) { return signed_ordinal(std::bit_cast<uint64_t>(value)); });
      return;
    case DType::kFloat32:
      std::ranges::transform(values, ordinals,
                             [](double value) { return signed_ordinal(std::bit_cast<uint32_t>(static_cast<float>(value))); });
      return;
    case DType::kFloat16:
      std::ranges::transform(values, ordinals, [](double value) { return signed_ordinal(float_to_float16(to_sticky_float(value))); });
      return;
    case DType::kBFloat16:
      std::ranges::transform(values, ordinals, [](double value) { return signed_ordinal(float_to_bfloat16(to_sticky_float(value))); });
      return;
    default: {
      const SmallValues small(dtype);
      std::ranges::transform(values, ordinals, [&](double value) { return small.ordinal(value); });
    }
  }
}

void round_to(DType dtype, std::span<const double> values, double* rounded) {
  switch (dtype) {
    case DType::kFloat64:
      std::ranges::copy(values, rounded);
      return;
    case DType::kFloat32:
      std::ranges::transform(values, rounded, [](double value) { return static_cast<double>(static_cast<float>(value)); });
      return;
    case DType::kFloat16:
      std::ranges::transform(values, rounded,
                             [](double value) { return static_cast<double>(float16_to_float(float_to_float16(to_sticky_float(value)))); });
      return;
    case DType::kBFloat16:
      std::ranges::transform(
          values, rounded, [](double value) { return static_cast<double>(bfloat16_to_float(float_to_bfloat16(to_sticky_float(value)))); });
      return;
    default: {
      const SmallValues small(dtype);
      std::ranges::transform(values, rounded, [&](double value) { return std::isnan(value) ? value : small.value(small.ordinal(value)); });
    }
  }
}

}  // namespace tensortap
