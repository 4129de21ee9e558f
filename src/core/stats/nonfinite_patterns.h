// Which bit patterns are NaN or Inf: those that, masked and flipped, reach a limit.

#ifndef TENSORTAP_STATS_NONFINITE_PATTERNS_H_
#define TENSORTAP_STATS_NONFINITE_PATTERNS_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace tensortap {

template <class W, W kMaskBits, W kFlipBits, W kLowestSpecial>
struct NonFinitePattern {
  using Word = W;
  static constexpr W kMask = kMaskBits;
  static constexpr W kFlip = kFlipBits;
  static constexpr W kLimit = kLowestSpecial;
};

// Words are signed where the masked pattern is never negative: every instruction set has their maximum.
using Float32Pattern = NonFinitePattern<int32_t, 0x7FFFFFFF, 0, 0x7F800000>;
using Float64Pattern = NonFinitePattern<int64_t, 0x7FFFFFFFFFFFFFFF, 0, 0x7FF0000000000000>;
using Float16Pattern = NonFinitePattern<int16_t, 0x7FFF, 0, 0x7C00>;
using BFloat16Pattern = NonFinitePattern<int16_t, 0x7FFF, 0, 0x7F80>;
using E4M3FnPattern = NonFinitePattern<uint8_t, 0x7F, 0, 0x7F>;
using E5M2Pattern = NonFinitePattern<uint8_t, 0x7F, 0, 0x7C>;
using FnuzPattern = NonFinitePattern<uint8_t, 0xFF, 0x7F, 0xFF>;
using E8M0Pattern = NonFinitePattern<uint8_t, 0xFF, 0, 0xFF>;

// Whether `count` words hold one. Any alignment.
template <class P>
bool has_nonfinite_pattern(const void* data, uint64_t count) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  bool found = false;
  for (uint64_t i = 0; i < count; ++i) {
    typename P::Word word;
    std::memcpy(&word, bytes + i * sizeof(word), sizeof(word));
    found |= static_cast<typename P::Word>((word & P::kMask) ^ P::kFlip) >= P::kLimit;
  }
  return found;
}

// Whether any of `count` words, of any alignment, is NaN or Inf.
using NonFiniteKernel = bool (*)(const void* data, uint64_t count);

// By dtype what `Kernel` makes of its pattern; null for types without NaN and Inf. A complex type's takes its parts as words.
template <class Kernel>
constexpr std::array<NonFiniteKernel, kDTypeCount> nonfinite_kernels() {
  std::array<NonFiniteKernel, kDTypeCount> kernels{};
  const auto set = [&kernels](DType dtype, NonFiniteKernel kernel) { kernels[static_cast<size_t>(dtype)] = kernel; };
  set(DType::kFloat16, &Kernel::template scan<Float16Pattern>);
  set(DType::kBFloat16, &Kernel::template scan<BFloat16Pattern>);
  set(DType::kFloat32, &Kernel::template scan<Float32Pattern>);
  set(DType::kFloat64, &Kernel::template scan<Float64Pattern>);
  set(DType::kComplex64, &Kernel::template scan<Float32Pattern>);
  set(DType::kComplex128, &Kernel::template scan<Float64Pattern>);
  set(DType::kFloat8E4M3FN, &Kernel::template scan<E4M3FnPattern>);
  set(DType::kFloat8E4M3FNUZ, &Kernel::template scan<FnuzPattern>);
  set(DType::kFloat8E5M2, &Kernel::template scan<E5M2Pattern>);
  set(DType::kFloat8E5M2FNUZ, &Kernel::template scan<FnuzPattern>);
  set(DType::kFloat8E8M0, &Kernel::template scan<E8M0Pattern>);
  return kernels;
}

// Element by element.
struct ScalarNonFinite {
  template <class P>
  static bool scan(const void* data, uint64_t count) {
    return has_nonfinite_pattern<P>(data, count);
  }
};

}  // namespace tensortap

#endif  // TENSORTAP_STATS_NONFINITE_PATTERNS_H_
