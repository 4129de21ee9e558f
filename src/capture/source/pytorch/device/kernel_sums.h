// What the kernel of kernel_code.h adds up: sums that are more exact than their numbers, in ranges of magnitude, so that no square
// leaves the range of a float. Compiled as that file is.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_SUMS_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_SUMS_H_

#include "source/pytorch/device/kernel_elements.h"

namespace tensortap::device_kernel {

template <class Real>
struct Limits;

// The squares of numbers between kSmall and kLarge are normal numbers, with their rounding errors; so are those of other numbers when they
// are scaled. Sums of numbers below kHuge stay finite.
template <>
struct Limits<float> {
  static constexpr float kSmall = 0x1p-40F;
  static constexpr float kLarge = 0x1p45F;
  static constexpr float kSmallScale = 0x1p86F;
  static constexpr float kLargeScale = 0x1p-84F;
  static constexpr float kHuge = 0x1p90F;
  static constexpr float kHugeScale = 0x1p-40F;
  static constexpr float kMost = 0x1.fffffep127F;
};
// Integers have doubles, which none of them leaves.
template <>
struct Limits<double> {
  static constexpr double kSmall = 0;
  static constexpr double kLarge = 0x1p90;
  static constexpr double kSmallScale = 1;
  static constexpr double kLargeScale = 1;
  static constexpr double kHuge = 0x1p90;
  static constexpr double kHugeScale = 1;
  static constexpr double kMost = 0x1p90;
};

// A sum in two numbers, since doubles are slow on most devices.
template <class Real>
struct Pair {
  Real high;
  Real low;
};

template <class Real>
TENSORTAP_DEVICE void add(Pair<Real>& sum, Real x) {
  const Real both = sum.high + x;
  const Real back = both - sum.high;
  sum.low += (sum.high - (both - back)) + (x - back);
  sum.high = both;
}

// a * b + c, rounded once.
#ifdef __CUDACC__
TENSORTAP_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TENSORTAP_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
#else
TENSORTAP_DEVICE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TENSORTAP_DEVICE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

template <class Real>
TENSORTAP_DEVICE Real magnitude_of(Real x) {
  return x < 0 ? -x : x;
}

// What a thread, and then a block, has found.
template <class Real>
struct Found {
  Real min;
  Real max;
  Pair<Real> sums[2];
  Pair<Real> squares[3];
  Pair<Real> magnitudes[2];
  Word nan;
  Word pos_inf;
  Word neg_inf;
  Word zero;
  Word neg_zero;
  Word negative;
  Word subnormal;
  Word first;  // ~0 = none
};

template <class Real>
TENSORTAP_DEVICE Found<Real> nothing() {
  Found<Real> found = {};
  found.min = Limits<Real>::kMost;
  found.max = -Limits<Real>::kMost;
  found.first = ~Word{0};
  return found;
}

// `distance` from the pivot, which may be infinite where both are huge.
template <class Real>
TENSORTAP_DEVICE void add_distance(Found<Real>& found, Real distance, Real x, Real pivot) {
  using L = Limits<Real>;
  const Real magnitude = magnitude_of(distance);
  if (magnitude < L::kHuge) {
    add(found.sums[0], distance);
  } else {
    add(found.sums[1], x * L::kHugeScale - pivot * L::kHugeScale);
  }
  // Not by an index: that would move the sums out of the registers.
  if (magnitude < L::kSmall) {
    add(found.squares[1], (distance * L::kSmallScale) * (distance * L::kSmallScale));
  } else if (magnitude < L::kLarge) {
    add(found.squares[0], distance * distance);
  } else {
    const Real scaled = magnitude < L::kHuge ? distance * L::kLargeScale : x * L::kLargeScale - pivot * L::kLargeScale;
    add(found.squares[2], scaled * scaled);
  }
}

template <class Real>
TENSORTAP_DEVICE void add_finite(Found<Real>& found, Real x, Real pivot) {
  using L = Limits<Real>;
  found.min = x < found.min ? x : found.min;
  found.max = x > found.max ? x : found.max;
  const Real magnitude = magnitude_of(x);
  if (magnitude < L::kHuge) {
    add(found.magnitudes[0], magnitude);
  } else {
    add(found.magnitudes[1], magnitude * L::kHugeScale);
  }
  add_distance(found, x - pivot, x, pivot);
}

template <class Real>
TENSORTAP_DEVICE void merge(Pair<Real>& sum, const Pair<Real>& other) {
  add(sum, other.high);
  sum.low += other.low;
}

template <class Real>
TENSORTAP_DEVICE void merge(Found<Real>& found, const Found<Real>& other) {
  found.min = other.min < found.min ? other.min : found.min;
  found.max = other.max > found.max ? other.max : found.max;
  for (int i = 0; i < 2; ++i) merge(found.sums[i], other.sums[i]);
  for (int i = 0; i < 3; ++i) merge(found.squares[i], other.squares[i]);
  for (int i = 0; i < 2; ++i) merge(found.magnitudes[i], other.magnitudes[i]);
  found.nan += other.nan;
  found.pos_inf += other.pos_inf;
  found.neg_inf += other.neg_inf;
  found.zero += other.zero;
  found.neg_zero += other.neg_zero;
  found.negative += other.negative;
  found.subnormal += other.subnormal;
  found.first = other.first < found.first ? other.first : found.first;
}

}  // namespace tensortap::device_kernel

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_SUMS_H_
