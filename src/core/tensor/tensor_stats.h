// The values of all statistics of one tensor. How they are computed: src/core/stats/. Plain data; part of a RecordRow.

#ifndef TENSORTAP_TENSOR_TENSOR_STATS_H_
#define TENSORTAP_TENSOR_TENSOR_STATS_H_

#include <cstdint>
#include <limits>

namespace tensortap {

// One bit for each statistic; TensorStats::valid lists the fields that were measured.
enum Stat : uint32_t {
  kStatMin = 1U << 0,
  kStatMax = 1U << 1,
  kStatMean = 1U << 2,
  kStatStd = 1U << 3,
  kStatL2 = 1U << 4,
  kStatAbsMax = 1U << 5,
  kStatNan = 1U << 6,
  kStatPosInf = 1U << 7,
  kStatNegInf = 1U << 8,
  kStatZero = 1U << 9,
  kStatNegZero = 1U << 10,
  kStatPositive = 1U << 11,
  kStatNegative = 1U << 12,
  kStatHistogram = 1U << 13,  // in a separate file, not in TensorStats
  kStatMeanAbs = 1U << 14,
  kStatSubnormal = 1U << 15,
  kStatSampled = 1U << 30,  // computed from `count` of the elements, spread evenly
};
inline constexpr uint32_t kStatNonFinite = kStatNan | kStatPosInf | kStatNegInf;
inline constexpr uint32_t kStatMinimal = kStatMin | kStatMax | kStatMean | kStatL2 | kStatNonFinite;
inline constexpr uint32_t kStatFull = (1U << 13) - 1;  // the usual ones
inline constexpr uint32_t kStatAll = kStatFull | kStatMeanAbs | kStatSubnormal;

// 8-byte aligned, no padding: part of the file format of records.npy (docs/layouts/tap.md).
struct TensorStats {
  double min = std::numeric_limits<double>::quiet_NaN();  // of the values that the policy lets in; NaN when there are none
  double max = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();
  double std = std::numeric_limits<double>::quiet_NaN();  // of the population (NumPy's ddof=0)
  double l2 = std::numeric_limits<double>::quiet_NaN();   // square root of the sum of squares
  double absmax = std::numeric_limits<double>::quiet_NaN();
  int64_t min_integer = 0;  // exact extremes of integer types; uint64 as its bit pattern
  int64_t max_integer = 0;
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  uint64_t zero = 0;  // both signs
  uint64_t neg_zero = 0;
  uint64_t positive = 0;         // > 0, +Inf included
  uint64_t negative = 0;         // < 0, -Inf included
  uint64_t count = 0;            // elements looked at
  int64_t first_nonfinite = -1;  // flat index of the first NaN or Inf, -1 = none
  uint32_t valid = 0;            // Stat bits
  uint32_t reserved = 0;
  double mean_abs = std::numeric_limits<double>::quiet_NaN();  // of |x|
  uint64_t subnormal = 0;                                      // in the tensor's own type
};
static_assert(sizeof(TensorStats) == 160);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_TENSOR_STATS_H_
