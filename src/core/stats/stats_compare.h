// Whether statistics equal others of the same elements: counts and extremes exactly, sums within the bounds of docs/statistics.md.

#ifndef TENSORTAP_STATS_STATS_COMPARE_H_
#define TENSORTAP_STATS_STATS_COMPARE_H_

#include <cmath>
#include <string>

#include "base/text.h"
#include "stats/stats.h"

namespace tensortap {

inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// NaN and infinities must agree; finite numbers may differ by `tolerance`.
inline bool near_number(double a, double b, double tolerance) {
  if (!std::isfinite(a) || !std::isfinite(b)) return same_number(a, b);
  return std::abs(a - b) <= tolerance;
}

// "" when `actual` is as good as `expected`, else the differences.
inline std::string difference(DType dtype, const TensorStats& expected, const TensorStats& actual) {
  std::string text;
  const auto check = [&](uint32_t stat, bool same, const char* name, auto a, auto b) {
    if ((stat == 0 || (expected.valid & stat) != 0) && !same) text += concat(name, ": expected ", a, ", got ", b, "; ");
  };
  const auto exact = [&](uint32_t stat, const char* name, uint64_t a, uint64_t b) { check(stat, a == b, name, a, b); };
  exact(0, "valid", expected.valid, actual.valid);
  exact(0, "count", expected.count, actual.count);
  exact(kStatNan, "nan", expected.nan, actual.nan);
  exact(kStatPosInf, "pos_inf", expected.pos_inf, actual.pos_inf);
  exact(kStatNegInf, "neg_inf", expected.neg_inf, actual.neg_inf);
  exact(kStatZero, "zero", expected.zero, actual.zero);
  exact(kStatNegZero, "neg_zero", expected.neg_zero, actual.neg_zero);
  exact(kStatPositive, "positive", expected.positive, actual.positive);
  exact(kStatNegative, "negative", expected.negative, actual.negative);
  exact(kStatSubnormal, "subnormal", expected.subnormal, actual.subnormal);
  exact(0, "min_integer", static_cast<uint64_t>(expected.min_integer), static_cast<uint64_t>(actual.min_integer));
  exact(0, "max_integer", static_cast<uint64_t>(expected.max_integer), static_cast<uint64_t>(actual.max_integer));
  exact(0, "first_nonfinite", static_cast<uint64_t>(expected.first_nonfinite), static_cast<uint64_t>(actual.first_nonfinite));
  check(kStatMin, same_number(expected.min, actual.min) && std::signbit(expected.min) == std::signbit(actual.min), "min", expected.min,
        actual.min);
  check(kStatMax, same_number(expected.max, actual.max) && std::signbit(expected.max) == std::signbit(actual.max), "max", expected.max,
        actual.max);
  check(kStatAbsMax, same_number(expected.absmax, actual.absmax), "absmax", expected.absmax, actual.absmax);
  const DTypeInfo& info = dtype_info(dtype);
  const bool has_float_lanes = info.kind == DTypeKind::kFloat && info.bits <= 32;
  // Root of the mean square: the scale for the errors of sums.
  const double size = std::sqrt(static_cast<double>(std::max<uint64_t>(expected.count, 1)));
  const double scale = std::isfinite(expected.l2) ? expected.l2 / size : 0;
  const double smallest = 0x1p-1074;
  check(kStatMean, near_number(expected.mean, actual.mean, scale * (has_float_lanes ? 0x1p-17 : 0x1p-38) + smallest), "mean", expected.mean,
        actual.mean);
  check(kStatMeanAbs, near_number(expected.mean_abs, actual.mean_abs, scale * 0x1p-38 + smallest), "mean_abs", expected.mean_abs,
        actual.mean_abs);
  check(kStatL2, near_number(expected.l2, actual.l2, expected.l2 * (has_float_lanes ? 0x1p-17 : 0x1p-38) + smallest), "l2", expected.l2,
        actual.l2);
  check(kStatStd, near_number(expected.std, actual.std, expected.std * (has_float_lanes ? 0x1p-15 : 0x1p-28) + scale * 0x1p-45 + smallest),
        "std", expected.std, actual.std);
  return text;
}

}  // namespace tensortap

#endif  // TENSORTAP_STATS_STATS_COMPARE_H_
