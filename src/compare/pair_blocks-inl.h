// Kernels of pairs: elements are loaded in lanes of float, or come decoded; all sums and comparisons are made in lanes of double, so that
// no instruction set rounds otherwise than another beyond the order of additions.

#if defined(TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#undef TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#else
#define TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#endif

#include <cstdint>
#include <limits>

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

// As many pairs as a vector has lanes of float.
struct PairVectors {
  WideVector a_low, a_high, b_low, b_high, difference_low, difference_high;
  UnsignedVector ulp;

  // Not = default: GCC would make that one behind the part of the file that is for this instruction set, and could not inline it there.
  HWY_INLINE PairVectors() {}

  HWY_INLINE void set(FloatVector a, FloatVector b) {
    const hn::Half<FloatTag> half;
    a_low = hn::PromoteTo(WideTag(), hn::LowerHalf(half, a));
    a_high = hn::PromoteTo(WideTag(), hn::UpperHalf(half, a));
    b_low = hn::PromoteTo(WideTag(), hn::LowerHalf(half, b));
    b_high = hn::PromoteTo(WideTag(), hn::UpperHalf(half, b));
    difference_low = hn::Sub(a_low, b_low);
    difference_high = hn::Sub(a_high, b_high);
  }
};

// Numbers in the order of the values that the bits of a float stand for; both zeros are 0.
HWY_INLINE BitsVector ordinals(BitsVector bits) {
  const BitsVector smallest = hn::Set(BitsTag(), std::numeric_limits<int32_t>::min());
  return hn::IfNegativeThenElse(bits, hn::Sub(smallest, bits), bits);
}

// Up to 2^32 - 1, which the subtraction that wraps around gives right.
HWY_INLINE UnsignedVector distance_of(BitsVector a, BitsVector b) {
  return hn::BitCast(UnsignedTag(), hn::Sub(hn::Max(a, b), hn::Min(a, b)));
}

// Where pairs come from: the elements as floats, and their distance in ULP.
struct Float32Pairs {
  using Loader = Float32Loader;
  static HWY_INLINE UnsignedVector ulp(const uint8_t*, const uint8_t*, size_t, FloatVector a, FloatVector b) {
    return distance_of(ordinals(hn::BitCast(BitsTag(), a)), ordinals(hn::BitCast(BitsTag(), b)));
  }
};

struct BFloat16Pairs {
  using Loader = BFloat16Loader;
  static HWY_INLINE UnsignedVector ulp(const uint8_t*, const uint8_t*, size_t, FloatVector a, FloatVector b) {
    return hn::ShiftRight<16>(distance_of(ordinals(hn::BitCast(BitsTag(), a)), ordinals(hn::BitCast(BitsTag(), b))));
  }
};

struct Float16Pairs {
  using Loader = Float16Loader;
  static HWY_INLINE BitsVector wide_bits(const uint8_t* data, size_t i) {
    const hn::Rebind<int16_t, FloatTag> half;
    return hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), hn::LoadU(half, reinterpret_cast<const int16_t*>(data + i * 2))));
  }
  static HWY_INLINE UnsignedVector ulp(const uint8_t* a, const uint8_t* b, size_t i, FloatVector, FloatVector) {
    return hn::ShiftRight<16>(distance_of(ordinals(wide_bits(a, i)), ordinals(wide_bits(b, i))));
  }
};

// Integers that a float holds.
template <class T>
struct IntegerLoader {
  static constexpr size_t kElementBytes = sizeof(T);
  static HWY_INLINE BitsVector integers(const uint8_t* data, size_t i) {
    const hn::Rebind<T, FloatTag> narrow;
    return hn::PromoteTo(BitsTag(), hn::LoadU(narrow, reinterpret_cast<const T*>(data + i * sizeof(T))));
  }
  static HWY_INLINE FloatVector one(const uint8_t* data, size_t i) { return hn::ConvertTo(FloatTag(), integers(data, i)); }
};

template <class T>
struct IntegerPairs {
  using Loader = IntegerLoader<T>;
  static HWY_INLINE UnsignedVector ulp(const uint8_t* a, const uint8_t* b, size_t i, FloatVector, FloatVector) {
    return distance_of(Loader::integers(a, i), Loader::integers(b, i));
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
  LongVector within_1e_3, within_5e_3;

  HWY_INLINE PairLanes() {
    squares_a = squares_b = products = squares = sum = distances = max_abs = max_rel = hn::Zero(WideTag());
    within_1e_3 = within_5e_3 = hn::Zero(LongTag());
  }

  static HWY_INLINE LongVector ones(hn::Mask<WideTag> mask) { return hn::BitCast(LongTag(), hn::VecFromMask(WideTag(), mask)); }

  // Returns, in the upper 12 bits, k where |a - b| is above 2^k and up to 2^(k+1) times the tolerance: what the bits of two positive
  // numbers differ by is their quotient's exponent.
  HWY_INLINE LongVector add(WideVector a, WideVector b, WideVector difference, const PairConstants& constants) {
    const WideVector distance = hn::Abs(difference);
    squares_a = hn::MulAdd(a, a, squares_a);
    squares_b = hn::MulAdd(b, b, squares_b);
    products = hn::MulAdd(a, b, products);
    squares = hn::MulAdd(difference, difference, squares);
    sum = hn::Add(sum, difference);
    distances = hn::Add(distances, distance);
    max_abs = hn::Max(max_abs, distance);
    const WideVector relative = hn::Div(distance, hn::Max(hn::Abs(b), constants.tiny));
    max_rel = hn::Max(max_rel, relative);
    within_1e_3 = hn::Sub(within_1e_3, ones(hn::Lt(relative, constants.thousandth)));
    within_5e_3 = hn::Sub(within_5e_3, ones(hn::Lt(relative, constants.five_thousandths)));
    // Rounded twice on every target: what stands between keeps compilers from making one instruction of both.
    const WideVector tolerance = hn::Add(hn::Abs(hn::Mul(constants.relative, b)), constants.absolute);
    const LongVector quotient = hn::Sub(hn::BitCast(LongTag(), distance), hn::BitCast(LongTag(), tolerance));
    return hn::Sub(quotient, hn::Set(LongTag(), 1));
  }

  static HWY_INLINE double total(WideVector lanes) { return hn::GetLane(hn::SumOfLanes(WideTag(), lanes)); }
  static HWY_INLINE uint64_t total(LongVector lanes) { return static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(LongTag(), lanes))); }

  HWY_INLINE void finish(PairSums& sums) const {
    sums.squares_a = total(squares_a);
    sums.squares_b = total(squares_b);
    sums.products = total(products);
    sums.squares = total(squares);
    sums.sum = total(sum);
    sums.distances = total(distances);
    sums.max_abs = hn::GetLane(hn::MaxOfLanes(WideTag(), max_abs));
    sums.max_rel = hn::GetLane(hn::MaxOfLanes(WideTag(), max_rel));
    sums.within_1e_3 = total(within_1e_3);
    sums.within_5e_3 = total(within_5e_3);
  }
};

// Counts of elements as floats. A block is too short to overflow a lane.
struct FloatCounts {
  BitsVector differing, zero_a_only, zero_b_only;
  UnsignedVector max_ulp;

  HWY_INLINE FloatCounts() {
    differing = zero_a_only = zero_b_only = hn::Zero(BitsTag());
    max_ulp = hn::Zero(UnsignedTag());
  }

  static HWY_INLINE BitsVector ones(hn::Mask<FloatTag> mask) { return hn::BitCast(BitsTag(), hn::VecFromMask(FloatTag(), mask)); }

  HWY_INLINE void add(FloatVector a, FloatVector b, UnsignedVector ulp) {
    const auto is_zero_a = hn::Eq(a, hn::Zero(FloatTag()));
    const auto is_zero_b = hn::Eq(b, hn::Zero(FloatTag()));
    zero_a_only = hn::Sub(zero_a_only, ones(hn::AndNot(is_zero_b, is_zero_a)));
    zero_b_only = hn::Sub(zero_b_only, ones(hn::AndNot(is_zero_a, is_zero_b)));
    differing = hn::Sub(differing, ones(hn::Ne(a, b)));
    max_ulp = hn::Max(max_ulp, ulp);
  }

  static HWY_INLINE uint64_t total(BitsVector lanes) {
    return static_cast<uint64_t>(int64_t{hn::GetLane(hn::SumOfLanes(BitsTag(), lanes))});
  }

  HWY_INLINE void finish(PairSums& sums) const {
    sums.max_ulp = hn::GetLane(hn::MaxOfLanes(UnsignedTag(), max_ulp));
    sums.differing = total(differing);
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

// The bins of as many pairs as there are lanes of float, from what PairLanes::add() returned for each half.
HWY_INLINE void store_bins(LongVector low, LongVector high, UnsignedVector ulp, PairBin* bins) {
  const BitsTag tag;
  const BitsVector exponent = hn::ShiftRight<20>(hn::ConcatOdd(tag, hn::BitCast(tag, high), hn::BitCast(tag, low)));
  const BitsVector moved = hn::Add(exponent, hn::Set(tag, static_cast<int32_t>(kFirstOutsideBin)));
  const BitsVector tolerance = hn::Min(hn::Max(moved, hn::Zero(tag)), hn::Set(tag, static_cast<int32_t>(kToleranceBins) - 1));
  // The exponent of the distance as a float: 126 stands for 0.
  const UnsignedVector capped = hn::Min(ulp, hn::Set(UnsignedTag(), 1U << (kUlpBins - 2)));
  const FloatVector as_float = hn::ConvertTo(FloatTag(), hn::BitCast(tag, capped));
  const BitsVector nothing = hn::Set(tag, 126);
  const BitsVector ulp_bin = hn::Sub(hn::Max(hn::ShiftRight<23>(hn::BitCast(tag, as_float)), nothing), nothing);
  const BitsVector bin = hn::Add(hn::ShiftLeft<4>(tolerance), ulp_bin);
  hn::StoreU(hn::DemoteTo(hn::Rebind<uint16_t, FloatTag>(), bin), hn::Rebind<uint16_t, FloatTag>(), bins);
}

static_assert(kUlpBins == 16, "store_bins() puts the ULP bin into four bits");

HWY_INLINE void add_pairs(const PairVectors& pairs, const PairConstants& constants, PairLanes& lanes, PairBin* bins) {
  const LongVector low = lanes.add(pairs.a_low, pairs.b_low, pairs.difference_low, constants);
  const LongVector high = lanes.add(pairs.a_high, pairs.b_high, pairs.difference_high, constants);
  store_bins(low, high, pairs.ulp, bins);
}

template <class Pairs>
uint64_t pair_block(const void* a, const void* b, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins) {
  const auto* bytes_a = static_cast<const uint8_t*>(a);
  const auto* bytes_b = static_cast<const uint8_t*>(b);
  const size_t step = hn::Lanes(FloatTag());
  const PairConstants constants(request);
  PairLanes lanes;
  FloatCounts counts;
  size_t i = 0;
  for (; i + step <= count; i += step) {
    prefetch_ahead(bytes_a + i * Pairs::Loader::kElementBytes);
    prefetch_ahead(bytes_b + i * Pairs::Loader::kElementBytes);
    const FloatVector x = Pairs::Loader::one(bytes_a, i);
    const FloatVector y = Pairs::Loader::one(bytes_b, i);
    PairVectors pairs;
    pairs.set(x, y);
    pairs.ulp = Pairs::ulp(bytes_a, bytes_b, i, x, y);
    counts.add(x, y, pairs.ulp);
    add_pairs(pairs, constants, lanes, bins + i);
  }
  lanes.finish(sums);
  counts.finish(sums);
  return i;
}

// Distances in ULP of doubles, which take 64 bits.
struct WideUlp {
  using Tag = hn::RebindToUnsigned<WideTag>;
  hn::Vec<Tag> largest;

  HWY_INLINE WideUlp() { largest = hn::Zero(Tag()); }

  static HWY_INLINE LongVector ordinals_of(WideVector value) {
    const LongVector bits = hn::BitCast(LongTag(), value);
    return hn::IfNegativeThenElse(bits, hn::Sub(hn::Set(LongTag(), std::numeric_limits<int64_t>::min()), bits), bits);
  }

  // What the histogram needs to know of the distance.
  HWY_INLINE hn::Vec<Tag> add(WideVector a, WideVector b) {
    const LongVector x = ordinals_of(a);
    const LongVector y = ordinals_of(b);
    const auto distance = hn::BitCast(Tag(), hn::Sub(hn::Max(x, y), hn::Min(x, y)));
    largest = hn::Max(largest, distance);
    return hn::Min(distance, hn::Set(Tag(), uint64_t{1} << 31));
  }
};

inline uint64_t double_block(const void* a, const void* b, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins) {
  const WideTag d;
  const auto* doubles_a = static_cast<const double*>(a);
  const auto* doubles_b = static_cast<const double*>(b);
  const size_t half = hn::Lanes(d);
  const PairConstants constants(request);
  PairLanes lanes;
  WideCounts counts;
  WideUlp ulp;
  size_t i = 0;
  for (; i + 2 * half <= count; i += 2 * half) {
    PairVectors pairs;
    pairs.a_low = hn::LoadU(d, doubles_a + i);
    pairs.a_high = hn::LoadU(d, doubles_a + i + half);
    pairs.b_low = hn::LoadU(d, doubles_b + i);
    pairs.b_high = hn::LoadU(d, doubles_b + i + half);
    pairs.difference_low = hn::Sub(pairs.a_low, pairs.b_low);
    pairs.difference_high = hn::Sub(pairs.a_high, pairs.b_high);
    const auto low = hn::BitCast(UnsignedTag(), ulp.add(pairs.a_low, pairs.b_low));
    const auto high = hn::BitCast(UnsignedTag(), ulp.add(pairs.a_high, pairs.b_high));
    pairs.ulp = hn::ConcatEven(UnsignedTag(), high, low);
    counts.add(pairs.a_low, pairs.b_low, pairs.difference_low);
    counts.add(pairs.a_high, pairs.b_high, pairs.difference_high);
    add_pairs(pairs, constants, lanes, bins + i);
  }
  lanes.finish(sums);
  counts.finish(sums);
  sums.max_ulp = hn::GetLane(hn::MaxOfLanes(WideUlp::Tag(), ulp.largest));
  return i;
}

inline uint64_t piece_block(const PairPiece& piece, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins) {
  const WideTag d;
  const size_t half = hn::Lanes(d);
  const size_t step = hn::Lanes(FloatTag());
  const PairConstants constants(request);
  PairLanes lanes;
  WideCounts counts;
  size_t i = 0;
  for (; i + step <= count; i += step) {
    PairVectors pairs;
    pairs.a_low = hn::LoadU(d, piece.a + i);
    pairs.a_high = hn::LoadU(d, piece.a + i + half);
    pairs.b_low = hn::LoadU(d, piece.b + i);
    pairs.b_high = hn::LoadU(d, piece.b + i + half);
    pairs.difference_low = hn::LoadU(d, piece.difference + i);
    pairs.difference_high = hn::LoadU(d, piece.difference + i + half);
    pairs.ulp = hn::LoadU(UnsignedTag(), piece.ulp + i);
    counts.add(pairs.a_low, pairs.b_low, pairs.difference_low);
    counts.add(pairs.a_high, pairs.b_high, pairs.difference_high);
    add_pairs(pairs, constants, lanes, bins + i);
  }
  lanes.finish(sums);
  counts.finish(sums);
  return i;
}

template <class Loader>
uint64_t squares_of_block(const void* data, uint64_t count, double& squares) {
  const size_t step = hn::Lanes(FloatTag());
  const hn::Half<FloatTag> half;
  WideVector low = hn::Zero(WideTag());
  WideVector high = low;
  size_t i = 0;
  for (; i + step <= count; i += step) {
    const FloatVector value = Loader::one(static_cast<const uint8_t*>(data), i);
    const WideVector a = hn::PromoteTo(WideTag(), hn::LowerHalf(half, value));
    const WideVector b = hn::PromoteTo(WideTag(), hn::UpperHalf(half, value));
    low = hn::MulAdd(a, a, low);
    high = hn::MulAdd(b, b, high);
  }
  squares = PairLanes::total(hn::Add(low, high));
  return i;
}

inline uint64_t squares_of_doubles(const void* data, uint64_t count, double& squares) {
  const size_t lanes = hn::Lanes(WideTag());
  const auto* bytes = static_cast<const uint8_t*>(data);
  WideVector low = hn::Zero(WideTag());
  WideVector high = low;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const WideVector a = hn::LoadU(WideTag(), reinterpret_cast<const double*>(bytes + i * sizeof(double)));
    const WideVector b = hn::LoadU(WideTag(), reinterpret_cast<const double*>(bytes + (i + lanes) * sizeof(double)));
    low = hn::MulAdd(a, a, low);
    high = hn::MulAdd(b, b, high);
  }
  squares = PairLanes::total(hn::Add(low, high));
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
