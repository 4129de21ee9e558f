// How two tensors differ: every measure in one pass over both.
//
// The first tensor (a) is judged, the second (b) is the reference. Values are compared, not bits: -0 equals +0, NaN equals NaN whatever its
// payload, equal infinities differ by 0. All values are converted to double, which is exact for every type up to 32 bits and for float64;
// differences of integers are exact in any type.

#ifndef TENSORTAP_COMPARE_DIFFERENCE_H_
#define TENSORTAP_COMPARE_DIFFERENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// An element is within it when |a - b| <= absolute + relative * |b|.
struct ToleranceRule {
  double absolute = 1e-5;
  double relative = 1e-5;
};

// Distances in units of the last place (ULP): bin 0 = none, bin i = [2^(i-1), 2^i), the last one everything beyond.
inline constexpr size_t kUlpBins = 16;
// |a - b| / (absolute + relative * |b|): bin i = (2^(i-32), 2^(i-31)], so that bins from kFirstOutsideBin on are outside of the tolerance.
// Bin 0 also has closer values and all equal ones, the last bin also those further away.
inline constexpr size_t kToleranceBins = 64;
inline constexpr size_t kFirstOutsideBin = 32;

// How integers represent real numbers: (q - zero_point) * scale. One scale and at most one zero point for the whole tensor, or one for each
// index of dimension `axis`. No scale = the tensor is not quantised. Borrowed for the call.
struct Quantization {
  std::span<const double> scale;
  std::span<const int64_t> zero_point;  // empty = 0
  int axis = 0;                         // ignored with one scale; negative ones count from the last
};

struct DifferenceOptions {
  ToleranceRule tolerance;
  Quantization a;
  Quantization b;
  // The dimension of b that stands at each place in a ([0, 2, 3, 1]: a is NHWC, b is NCHW); empty = as they are. b is then read in a's
  // order, block by block.
  std::span<const int> permutation;
};

// What is not finite on one side.
struct NonFiniteCounts {
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
};

// The error that is left once both sides are of the narrower of two floating types.
struct NarrowedDifference {
  DType dtype = DType::kUndefined;
  uint64_t differing = 0;
  double max_abs = 0;
  double relative_l2 = 0;
};

// Positions are flat indices in the C order of a, and always those of the first such element. Complex numbers are pairs of real ones: every
// count is one of parts (two for each element), positions are those of elements. Sums and maxima are those of the parts that are finite on
// both sides. Plain data.
struct Difference {
  uint64_t numel = 0;      // elements of each tensor
  uint64_t compared = 0;   // values looked at: numel, twice as many for complex
  uint64_t finite = 0;     // of them finite on both sides: sums and maxima are of these
  bool bit_equal = false;  // same type, same bytes in the order in which they are compared
  bool in_steps = false;   // both are quantised by the same scales: differences are whole steps, norms those of q - zero_point
  uint64_t differing = 0;  // a value that is not finite on one side counts
  std::optional<uint64_t> first_differing;

  double max_abs = 0;
  uint64_t max_abs_at = 0;
  double max_rel = 0;  // of |a - b| / max(|b|, smallest normal number of the type); of integers max(|b|, 1)
  uint64_t max_rel_at = 0;
  double mean = 0;      // of a - b
  double mean_abs = 0;  // of |a - b|
  double mse = 0;
  double rmse = 0;
  double l2_a = 0;
  double l2_b = 0;
  double relative_l2 = 0;  // |a - b| / |b|; Inf when only b is all zeros
  double cosine = 1;       // 1 when both are all zeros, 0 when one is
  double snr_db = 0;       // of b as the signal and a - b as the noise; Inf without noise

  // In units of the narrower type (of two floating types the one with fewer digits). For integers, which have no such type, the difference.
  // A pair that is not finite on one side has no distance and is in no bin.
  DType ulp_dtype = DType::kUndefined;
  uint64_t max_ulp = 0;
  std::array<uint64_t, kUlpBins> ulp_histogram{};

  std::array<uint64_t, kToleranceBins> tolerance_histogram{};  // a pair that is not finite on one side is in the last bin
  uint64_t outside = 0;                                        // of the tolerance
  uint64_t within_1e_3 = 0;                                    // relative error below 1/1000, and 5/1000: equal ones count
  uint64_t within_5e_3 = 0;
  double share_within_1e_3 = 1;
  double share_within_5e_3 = 1;

  NonFiniteCounts nonfinite_a;
  NonFiniteCounts nonfinite_b;
  uint64_t both_nan = 0;
  uint64_t nonfinite_differing = 0;  // not finite on one side, or not in the same way
  std::optional<uint64_t> first_nonfinite_differing;
  uint64_t zero_a_only = 0;  // zero in a and another finite value in b
  uint64_t zero_b_only = 0;

  std::optional<NarrowedDifference> narrowed;  // of two floating types

  // How many values are outside when the tolerance is multiplied by 2^power.
  [[nodiscard]] uint64_t outside_at(int power) const;
  // The smallest power of two by which the tolerance has to be multiplied so that this share of the values (0 to 1) is within it. Infinity
  // when no bin is far enough.
  [[nodiscard]] double tolerance_factor(double share) const;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_DIFFERENCE_H_
