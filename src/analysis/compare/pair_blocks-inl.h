// Kernels of pairs: elements are loaded in lanes of float, or come decoded.

#if defined(TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#undef TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#else
#define TENSORTAP_COMPARE_PAIR_BLOCKS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "compare/pair_block.h"
#include "compare/pair_lanes-inl.h"
#include "hwy/highway.h"
#include "stats/float_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How many values there are from the float with bits `a` to that with bits `b`; both zeros are one value. Up to 2^32 - 1.
HWY_INLINE UnsignedVector steps_between(BitsVector a, BitsVector b) {
  const BitsVector sign = hn::Set(BitsTag(), std::numeric_limits<int32_t>::min());
  // With one sign the bits are as far apart as the values; with two, the way leads over zero.
  const BitsVector over_zero = hn::Xor(hn::Add(a, b), sign);
  const BitsVector apart = hn::Abs(hn::Sub(a, b));
  return hn::BitCast(UnsignedTag(), hn::IfNegativeThenElse(hn::Xor(a, b), over_zero, apart));
}

// Of integers. Up to 2^32 - 1, which the subtraction that wraps around gives right.
HWY_INLINE UnsignedVector distance_of(BitsVector a, BitsVector b) {
  return hn::BitCast(UnsignedTag(), hn::Sub(hn::Max(a, b), hn::Min(a, b)));
}

// The floats of a vector as doubles.
struct WidenedInRegisters {
  static HWY_INLINE void widen(const uint8_t*, size_t, FloatVector value, WideVector& low, WideVector& high) {
    const hn::Half<FloatTag> half;
    low = hn::PromoteTo(WideTag(), hn::LowerHalf(half, value));
    high = hn::PromoteTo(WideTag(), hn::UpperHalf(half, value));
  }
};

// Where pairs come from: the elements as floats, the same as doubles, and their distance in ULP.
struct Float32Pairs {
  using Loader = Float32Loader;
  // Read once more: what converts from memory needs no shuffle.
  static HWY_INLINE void widen(const uint8_t* data, size_t i, FloatVector, WideVector& low, WideVector& high) {
    const hn::Half<FloatTag> half;
    const auto* floats = reinterpret_cast<const float*>(data + i * sizeof(float));
    low = hn::PromoteTo(WideTag(), hn::LoadU(half, floats));
    high = hn::PromoteTo(WideTag(), hn::LoadU(half, floats + hn::Lanes(half)));
  }
  static HWY_INLINE UnsignedVector ulp(const uint8_t*, const uint8_t*, size_t, FloatVector a, FloatVector b) {
    return steps_between(hn::BitCast(BitsTag(), a), hn::BitCast(BitsTag(), b));
  }
};

struct BFloat16Pairs : WidenedInRegisters {
  using Loader = BFloat16Loader;
  static HWY_INLINE UnsignedVector ulp(const uint8_t*, const uint8_t*, size_t, FloatVector a, FloatVector b) {
    return hn::ShiftRight<16>(steps_between(hn::BitCast(BitsTag(), a), hn::BitCast(BitsTag(), b)));
  }
};

struct Float16Pairs : WidenedInRegisters {
  using Loader = Float16Loader;
  static HWY_INLINE BitsVector wide_bits(const uint8_t* data, size_t i) {
    const hn::Rebind<int16_t, FloatTag> half;
    return hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), hn::LoadU(half, reinterpret_cast<const int16_t*>(data + i * 2))));
  }
  static HWY_INLINE UnsignedVector ulp(const uint8_t* a, const uint8_t* b, size_t i, FloatVector, FloatVector) {
    return hn::ShiftRight<16>(steps_between(wide_bits(a, i), wide_bits(b, i)));
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
struct IntegerPairs : WidenedInRegisters {
  using Loader = IntegerLoader<T>;
  static HWY_INLINE UnsignedVector ulp(const uint8_t* a, const uint8_t* b, size_t i, FloatVector, FloatVector) {
    return distance_of(Loader::integers(a, i), Loader::integers(b, i));
  }
};

template <class Pairs>
HWY_INLINE void load_pairs(const uint8_t* a, const uint8_t* b, size_t i, FloatCounts& counts, PairVectors& pairs) {
  const FloatVector x = Pairs::Loader::one(a, i);
  const FloatVector y = Pairs::Loader::one(b, i);
  Pairs::widen(a, i, x, pairs.a_low, pairs.a_high);
  Pairs::widen(b, i, y, pairs.b_low, pairs.b_high);
  pairs.set_differences();
  pairs.ulp = Pairs::ulp(a, b, i, x, y);
  counts.add(x, y, pairs.ulp);
}

template <class Pairs>
uint64_t pair_block(const void* a, const void* b, uint64_t count, const PairRequest& request, PairSums& sums, PairBin* bins) {
  const auto* bytes_a = static_cast<const uint8_t*>(a);
  const auto* bytes_b = static_cast<const uint8_t*>(b);
  const size_t step = hn::Lanes(FloatTag());
  const PairConstants constants(request);
  PairLanes lanes;
  FloatCounts counts;
  PairVectors x;
  size_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    prefetch_ahead(bytes_a + i * Pairs::Loader::kElementBytes);
    prefetch_ahead(bytes_b + i * Pairs::Loader::kElementBytes);
    PairVectors y;
    load_pairs<Pairs>(bytes_a, bytes_b, i, counts, x);
    load_pairs<Pairs>(bytes_a, bytes_b, i + step, counts, y);
    add_two(x, y, constants, lanes, bins + i);
  }
  if (i + step <= count) {
    load_pairs<Pairs>(bytes_a, bytes_b, i, counts, x);
    add_pairs(x, constants, lanes, bins + i);
    i += step;
  }
  lanes.finish(i, sums);
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
  lanes.finish(i, sums);
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
  lanes.finish(i, sums);
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
