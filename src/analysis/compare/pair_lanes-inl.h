// Pairs in lanes, and what is summed, counted and sorted of them. All sums and comparisons are made in lanes of double, so that no
// instruction set rounds otherwise than another beyond the order of additions.

#if defined(TENSORTAP_COMPARE_PAIR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_COMPARE_PAIR_LANES_INL_H_
#undef TENSORTAP_COMPARE_PAIR_LANES_INL_H_
#else
#define TENSORTAP_COMPARE_PAIR_LANES_INL_H_
#endif

#include <cstdint>

#include "compare/difference.h"
#include "compare/pair_block.h"
#include "hwy/highway.h"
#include "stats/float_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LongTag = hn::RebindToSigned<WideTag>;
using LongVector = hn::Vec<LongTag>;
using UnsignedTag = hn::RebindToUnsigned<FloatTag>;
using UnsignedVector = hn::Vec<UnsignedTag>;
using WordTag = hn::Repartition<int16_t, FloatTag>;
using WordVector = hn::Vec<WordTag>;

// As many pairs as a vector has lanes of float.
struct PairVectors {
  WideVector a_low, a_high, b_low, b_high, difference_low, difference_high;
  UnsignedVector ulp;

  // Not = default: GCC would make that one behind the part of the file that is for this instruction set, and could not inline it there.
  HWY_INLINE PairVectors() {}

  // After a and b.
  HWY_INLINE void set_differences() {
    difference_low = hn::Sub(a_low, b_low);
    difference_high = hn::Sub(a_high, b_high);
  }
};

// What is the same for all pairs of a block.
struct PairConstants {
  WideVector absolute, relative, tiny, thousandth, five_thousandths;

  explicit HWY_INLINE PairConstants(const PairRequest& request) {
    absolute = hn::Set(WideTag(), request.absolute);
    relative = hn::Set(WideTag(), request.relative);
    tiny = hn::Set(WideTag(), request.tiny);
    thousandth = hn::Set(WideTag(), 1e-3);
    five_thousandths = hn::Set(WideTag(), 5e-3);
  }
};

// Sums, maxima and counts in lanes of double. A true lane of a mask is -1 as an integer.
struct PairLanes {
  WideVector squares_a, squares_b, products, squares, sum, distances, max_abs, max_rel;
  LongVector beyond_1e_3, beyond_5e_3;

  HWY_INLINE PairLanes() {
    squares_a = squares_b = products = squares = sum = distances = max_abs = max_rel = hn::Zero(WideTag());
    beyond_1e_3 = beyond_5e_3 = hn::Zero(LongTag());
  }

  static HWY_INLINE LongVector ones(hn::Mask<WideTag> mask) { return hn::BitCast(LongTag(), hn::VecFromMask(WideTag(), mask)); }

  // Returns, in the upper 12 bits, k where |a - b| is above 2^k and up to 2^(k+1) times the tolerance: what the bits of two positive
  // numbers differ by is their quotient's exponent. Sets `relative`, which is to be added.
  HWY_INLINE LongVector add(WideVector a, WideVector b, WideVector difference, const PairConstants& constants, WideVector& relative) {
    const WideVector distance = hn::Abs(difference);
    squares_a = hn::MulAdd(a, a, squares_a);
    squares_b = hn::MulAdd(b, b, squares_b);
    products = hn::MulAdd(a, b, products);
    squares = hn::MulAdd(difference, difference, squares);
    sum = hn::Add(sum, difference);
    distances = hn::Add(distances, distance);
    max_abs = hn::Max(max_abs, distance);
    relative = hn::Div(distance, hn::Max(hn::Abs(b), constants.tiny));
    // Rounded twice on every target: what stands between keeps compilers from making one instruction of both.
    const WideVector tolerance = hn::Add(hn::Abs(hn::Mul(constants.relative, b)), constants.absolute);
    const LongVector quotient = hn::Sub(hn::BitCast(LongTag(), distance), hn::BitCast(LongTag(), tolerance));
    return hn::Sub(quotient, hn::Set(LongTag(), 1));
  }

  HWY_INLINE void count_beyond(WideVector relative, const PairConstants& constants) {
    beyond_1e_3 = hn::Sub(beyond_1e_3, ones(hn::Ge(relative, constants.thousandth)));
    beyond_5e_3 = hn::Sub(beyond_5e_3, ones(hn::Ge(relative, constants.five_thousandths)));
  }

  // Most pairs are close, and then one comparison is enough for all vectors.
  template <class... Vectors>
  HWY_INLINE void add_relative(const PairConstants& constants, WideVector largest, Vectors... others) {
    const WideVector first = largest;
    ((largest = hn::Max(largest, others)), ...);
    max_rel = hn::Max(max_rel, largest);
    if (HWY_LIKELY(hn::AllTrue(WideTag(), hn::Lt(largest, constants.thousandth)))) return;
    count_beyond(first, constants);
    (count_beyond(others, constants), ...);
  }

  static HWY_INLINE double total(WideVector lanes) { return hn::GetLane(hn::SumOfLanes(WideTag(), lanes)); }
  static HWY_INLINE uint64_t total(LongVector lanes) { return static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(LongTag(), lanes))); }

  // `taken`: how many pairs were added.
  HWY_INLINE void finish(uint64_t taken, PairSums& sums) const {
    sums.squares_a = total(squares_a);
    sums.squares_b = total(squares_b);
    sums.products = total(products);
    sums.squares = total(squares);
    sums.sum = total(sum);
    sums.distances = total(distances);
    sums.max_abs = hn::GetLane(hn::MaxOfLanes(WideTag(), max_abs));
    sums.max_rel = hn::GetLane(hn::MaxOfLanes(WideTag(), max_rel));
    sums.within_1e_3 = taken - total(beyond_1e_3);
    sums.within_5e_3 = taken - total(beyond_5e_3);
  }
};

// Counts of elements as floats. A block is too short to overflow a lane. Which ones differ is in their bins.
struct FloatCounts {
  BitsVector zero_a_only, zero_b_only;
  UnsignedVector max_ulp;

  HWY_INLINE FloatCounts() {
    zero_a_only = zero_b_only = hn::Zero(BitsTag());
    max_ulp = hn::Zero(UnsignedTag());
  }

  static HWY_INLINE BitsVector ones(hn::Mask<FloatTag> mask) { return hn::BitCast(BitsTag(), hn::VecFromMask(FloatTag(), mask)); }

  HWY_INLINE void add(FloatVector a, FloatVector b, UnsignedVector ulp) {
    const auto is_zero_a = hn::Eq(a, hn::Zero(FloatTag()));
    const auto is_zero_b = hn::Eq(b, hn::Zero(FloatTag()));
    zero_a_only = hn::Sub(zero_a_only, ones(hn::AndNot(is_zero_b, is_zero_a)));
    zero_b_only = hn::Sub(zero_b_only, ones(hn::AndNot(is_zero_a, is_zero_b)));
    max_ulp = hn::Max(max_ulp, ulp);
  }

  static HWY_INLINE uint64_t total(BitsVector lanes) {
    return static_cast<uint64_t>(int64_t{hn::GetLane(hn::SumOfLanes(BitsTag(), lanes))});
  }

  HWY_INLINE void finish(PairSums& sums) const {
    sums.max_ulp = hn::GetLane(hn::MaxOfLanes(UnsignedTag(), max_ulp));
    sums.zero_a_only = total(zero_a_only);
    sums.zero_b_only = total(zero_b_only);
  }
};

// The same of elements as doubles.
struct WideCounts {
  LongVector differing, zero_a_only, zero_b_only;

  HWY_INLINE WideCounts() { differing = zero_a_only = zero_b_only = hn::Zero(LongTag()); }

  HWY_INLINE void add(WideVector a, WideVector b, WideVector difference) {
    const WideVector zero = hn::Zero(WideTag());
    const auto is_zero_a = hn::Eq(a, zero);
    const auto is_zero_b = hn::Eq(b, zero);
    zero_a_only = hn::Sub(zero_a_only, PairLanes::ones(hn::AndNot(is_zero_b, is_zero_a)));
    zero_b_only = hn::Sub(zero_b_only, PairLanes::ones(hn::AndNot(is_zero_a, is_zero_b)));
    differing = hn::Sub(differing, PairLanes::ones(hn::Ne(difference, zero)));
  }

  HWY_INLINE void finish(PairSums& sums) const {
    sums.differing = PairLanes::total(differing);
    sums.zero_a_only = PairLanes::total(zero_a_only);
    sums.zero_b_only = PairLanes::total(zero_b_only);
  }
};

// Determines the two bins of pairs, before the range of bins is applied: two numbers that fit in 16 bits.
struct RawBins {
  BitsVector tolerance;  // the exponent of |a - b| beside the tolerance
  BitsVector ulp;        // that of the distance as a float

  // From what PairLanes::add() returned for each half.
  HWY_INLINE RawBins(LongVector low, LongVector high, UnsignedVector distance) {
    const BitsTag tag;
    tolerance = hn::ShiftRight<20>(hn::ConcatOdd(tag, hn::BitCast(tag, high), hn::BitCast(tag, low)));
    const UnsignedVector capped = hn::Min(distance, hn::Set(UnsignedTag(), 1U << (kUlpBins - 2)));
    ulp = hn::ShiftRight<23>(hn::BitCast(tag, hn::ConvertTo(FloatTag(), hn::BitCast(tag, capped))));
  }
};

static_assert(kUlpBins == 16, "bins_of() puts the ULP bin into four bits");

// `Tag` is one of signed integers of 16 bits or more.
template <class Tag>
HWY_INLINE hn::Vec<Tag> bins_of(Tag tag, hn::Vec<Tag> tolerance, hn::Vec<Tag> ulp) {
  const auto moved = hn::Add(tolerance, hn::Set(tag, kFirstOutsideBin));
  const auto tolerance_bin = hn::Min(hn::Max(moved, hn::Zero(tag)), hn::Set(tag, kToleranceBins - 1));
  const auto nothing = hn::Set(tag, 126);  // the exponent of 0.5; the only smaller distance is 0
  const auto ulp_bin = hn::Sub(hn::Max(ulp, nothing), nothing);
  return hn::Add(hn::ShiftLeft<4>(tolerance_bin), ulp_bin);
}

HWY_INLINE void add_pairs(const PairVectors& pairs, const PairConstants& constants, PairLanes& lanes, PairBin* bins) {
  WideVector relative_low;
  WideVector relative_high;
  const LongVector low = lanes.add(pairs.a_low, pairs.b_low, pairs.difference_low, constants, relative_low);
  const LongVector high = lanes.add(pairs.a_high, pairs.b_high, pairs.difference_high, constants, relative_high);
  lanes.add_relative(constants, relative_low, relative_high);
  const RawBins raw(low, high, pairs.ulp);
  const hn::Rebind<uint16_t, FloatTag> narrow;
  hn::StoreU(hn::DemoteTo(narrow, bins_of(BitsTag(), raw.tolerance, raw.ulp)), narrow, bins);
}

// Twice as many; their bins are not in the order of the pairs.
HWY_INLINE void add_two(const PairVectors& x, const PairVectors& y, const PairConstants& constants, PairLanes& lanes, PairBin* bins) {
  WideVector x_relative_low, x_relative_high, y_relative_low, y_relative_high;
  const LongVector x_low = lanes.add(x.a_low, x.b_low, x.difference_low, constants, x_relative_low);
  const LongVector x_high = lanes.add(x.a_high, x.b_high, x.difference_high, constants, x_relative_high);
  const RawBins raw_x(x_low, x_high, x.ulp);
  const LongVector y_low = lanes.add(y.a_low, y.b_low, y.difference_low, constants, y_relative_low);
  const LongVector y_high = lanes.add(y.a_high, y.b_high, y.difference_high, constants, y_relative_high);
  const RawBins raw_y(y_low, y_high, y.ulp);
  lanes.add_relative(constants, x_relative_low, x_relative_high, y_relative_low, y_relative_high);
  const WordTag words;
  const WordVector tolerance = hn::ReorderDemote2To(words, raw_x.tolerance, raw_y.tolerance);
  const WordVector ulp = hn::ReorderDemote2To(words, raw_x.ulp, raw_y.ulp);
  hn::StoreU(bins_of(words, tolerance, ulp), words, reinterpret_cast<int16_t*>(bins));
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
