// Fast kernels of float32, float16 and bfloat16: everything in lanes of float, eight (sixteen) at a time.
//
// A float's bits taken as an integer are negative where the sign is set and zero only for +0: so signs and zeros are counted as those of
// integers are. Minus zero is the smallest integer of all, and an integer minimum shows whether a block has any.

#if defined(TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#undef TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#endif

#include <cmath>
#include <cstring>

#include "hwy/highway.h"
#include "stats/block_sums.h"
#include "stats/sign_counts-inl.h"
#include "tensor/number_formats.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using BitsTag = hn::RebindToSigned<FloatTag>;
using BitsVector = hn::Vec<BitsTag>;
using WideTag = hn::ScalableTag<double>;
using WideVector = hn::Vec<WideTag>;

// Additions in float before the lanes go over to double: what bounds the error (docs/statistics.md). With a shift an accumulator of squares
// takes two vectors of a group.
inline constexpr size_t kFloatAdditions = 64;
template <bool kShift>
inline constexpr size_t kGroupsOfPiece = kShift ? kFloatAdditions / 2 : kFloatAdditions;

// Where elements come from: `group` loads 4 vectors from element i on (in any order), `one` one vector, `scalar` one element.
struct Float32Loader {
  static constexpr size_t kElementBytes = 4;
  static HWY_INLINE FloatVector one(const uint8_t* data, size_t i) {
    return hn::LoadU(FloatTag(), reinterpret_cast<const float*>(data + i * sizeof(float)));
  }
  static HWY_INLINE void group(const uint8_t* data, size_t i, FloatVector& a, FloatVector& b, FloatVector& c, FloatVector& d) {
    const size_t lanes = hn::Lanes(FloatTag());
    a = one(data, i);
    b = one(data, i + lanes);
    c = one(data, i + 2 * lanes);
    d = one(data, i + 3 * lanes);
  }
  static HWY_INLINE float scalar(const uint8_t* data, size_t i) {
    float value;
    std::memcpy(&value, data + i * sizeof(float), sizeof(float));
    return value;
  }
};

struct Float16Loader {
  static constexpr size_t kElementBytes = 2;
  static HWY_INLINE FloatVector one(const uint8_t* data, size_t i) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    return hn::PromoteTo(FloatTag(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(data + i * 2)));
#else
    // Highway's own emulation reads infinity as 65536. The product is exact, subnormal numbers included.
    const hn::Rebind<uint16_t, FloatTag> half;
    const hn::RebindToUnsigned<FloatTag> word;
    const auto bits = hn::PromoteTo(word, hn::LoadU(half, reinterpret_cast<const uint16_t*>(data + i * 2)));
    const auto magnitude = hn::And(bits, hn::Set(word, 0x7FFFU));
    const auto sign = hn::ShiftLeft<16>(hn::Sub(bits, magnitude));
    const auto scaled = hn::Mul(hn::BitCast(FloatTag(), hn::ShiftLeft<13>(magnitude)), hn::Set(FloatTag(), 0x1p112F));
    const auto is_special = hn::Gt(hn::BitCast(BitsTag(), magnitude), hn::Set(BitsTag(), 0x7BFF));
    const auto special = hn::IfThenElseZero(is_special, hn::Set(BitsTag(), 0x7F800000));
    return hn::Or(hn::Or(scaled, hn::BitCast(FloatTag(), sign)), hn::BitCast(FloatTag(), special));
#endif
  }
  static HWY_INLINE void group(const uint8_t* data, size_t i, FloatVector& a, FloatVector& b, FloatVector& c, FloatVector& d) {
    const size_t lanes = hn::Lanes(FloatTag());
    a = one(data, i);
    b = one(data, i + lanes);
    c = one(data, i + 2 * lanes);
    d = one(data, i + 3 * lanes);
  }
  static HWY_INLINE float value(uint16_t bits) { return float16_to_float(bits); }
  static HWY_INLINE float scalar(const uint8_t* data, size_t i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * 2, 2);
    return value(bits);
  }
};

struct BFloat16Loader {
  static constexpr size_t kElementBytes = 2;
  static HWY_INLINE FloatVector one(const uint8_t* data, size_t i) {
    const hn::Rebind<uint16_t, FloatTag> half;
    const hn::RebindToUnsigned<FloatTag> word;
    const auto bits = hn::PromoteTo(word, hn::LoadU(half, reinterpret_cast<const uint16_t*>(data + i * 2)));
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits));
  }
  // Two elements of 16 bits in each lane of 32: the even ones by a shift, the odd ones by a mask.
  static HWY_INLINE void pair(const uint8_t* data, size_t i, FloatVector& even, FloatVector& odd) {
    const hn::RebindToUnsigned<FloatTag> word;
    const auto both = hn::LoadU(word, reinterpret_cast<const uint32_t*>(data + i * 2));
    even = hn::BitCast(FloatTag(), hn::ShiftLeft<16>(both));
    odd = hn::BitCast(FloatTag(), hn::And(both, hn::Set(word, 0xFFFF0000U)));
  }
  static HWY_INLINE void group(const uint8_t* data, size_t i, FloatVector& a, FloatVector& b, FloatVector& c, FloatVector& d) {
    pair(data, i, a, b);
    pair(data, i + 2 * hn::Lanes(FloatTag()), c, d);
  }
  static HWY_INLINE float value(uint16_t bits) { return bfloat16_to_float(bits); }
  static HWY_INLINE float scalar(const uint8_t* data, size_t i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * 2, 2);
    return value(bits);
  }
};

HWY_INLINE WideVector widen_and_add(FloatVector value, WideVector total) {
  const hn::Half<FloatTag> half;
  const WideVector low = hn::PromoteTo(WideTag(), hn::LowerHalf(half, value));
  const WideVector high = hn::PromoteTo(WideTag(), hn::UpperHalf(half, value));
  return hn::Add(total, hn::Add(low, high));
}

// Extremes and sums of a block. Four vectors are joined before they meet an accumulator, except for the squares, which have four: so no
// chain of additions is longer than one instruction a group, in as few registers as AVX2 has.
struct FloatSums {
  FloatVector min;
  FloatVector max;
  FloatVector sum_a, sum_b;
  FloatVector squares_a, squares_b, squares_c, squares_d;
  WideVector sum;
  WideVector squares;

  // Written out: a constructor that the compiler makes up would not be compiled for the target.
  HWY_INLINE FloatSums() {
    min = hn::Set(FloatTag(), HUGE_VALF);
    max = hn::Set(FloatTag(), -HUGE_VALF);
    sum = squares = hn::Zero(WideTag());
    clear_lanes();
  }

  HWY_INLINE void clear_lanes() {
    sum_a = sum_b = hn::Zero(FloatTag());
    squares_a = squares_b = squares_c = squares_d = hn::Zero(FloatTag());
  }

  // With counts the largest number comes from these (SignCounts).
  template <bool kCounts, bool kShift>
  HWY_INLINE void add_one(FloatVector value, FloatVector shift) {
    min = hn::Min(value, min);
    if constexpr (!kCounts) max = hn::Max(value, max);
    if constexpr (kShift) value = hn::Sub(value, shift);
    sum_a = hn::Add(sum_a, value);
    squares_a = hn::MulAdd(value, value, squares_a);
  }

  template <bool kCounts, bool kShift>
  HWY_INLINE void add_group(FloatVector a, FloatVector b, FloatVector c, FloatVector d, FloatVector shift) {
    min = hn::Min(min, hn::Min(hn::Min(a, b), hn::Min(c, d)));
    if constexpr (!kCounts) max = hn::Max(max, hn::Max(hn::Max(a, b), hn::Max(c, d)));
    add_sums<kShift>(a, b, c, d, shift);
  }

  template <bool kShift>
  HWY_INLINE void add_sums(FloatVector a, FloatVector b, FloatVector c, FloatVector d, FloatVector shift) {
    if constexpr (kShift) {
      // Half the accumulators: with the shift AVX2 has too few registers for all, and one that is kept in memory waits for it.
      a = hn::Sub(a, shift);
      b = hn::Sub(b, shift);
      squares_a = hn::MulAdd(a, a, squares_a);
      squares_b = hn::MulAdd(b, b, squares_b);
      c = hn::Sub(c, shift);
      d = hn::Sub(d, shift);
      sum_a = hn::Add(sum_a, hn::Add(hn::Add(a, b), hn::Add(c, d)));
      squares_a = hn::MulAdd(c, c, squares_a);
      squares_b = hn::MulAdd(d, d, squares_b);
    } else {
      sum_a = hn::Add(sum_a, hn::Add(a, b));
      sum_b = hn::Add(sum_b, hn::Add(c, d));
      squares_a = hn::MulAdd(a, a, squares_a);
      squares_b = hn::MulAdd(b, b, squares_b);
      squares_c = hn::MulAdd(c, c, squares_c);
      squares_d = hn::MulAdd(d, d, squares_d);
    }
  }

  // Moves the sums into doubles.
  HWY_INLINE void flush() {
    sum = widen_and_add(hn::Add(sum_a, sum_b), sum);
    squares = widen_and_add(hn::Add(hn::Add(squares_a, squares_b), hn::Add(squares_c, squares_d)), squares);
    clear_lanes();
  }
};

// Lanes count in vectors: a mask for each vector, moved to where it can be counted, takes twice as long. A block is too short to overflow.
template <class Loader>
HWY_NOINLINE uint64_t count_minus_zeros(const uint8_t* data, size_t count) {
  const size_t lanes = hn::Lanes(FloatTag());
  const BitsVector minus_zero = hn::Set(BitsTag(), std::numeric_limits<int32_t>::min());
  const auto ones_of = [&](FloatVector value)
                           HWY_ATTR { return hn::VecFromMask(BitsTag(), hn::Eq(hn::BitCast(BitsTag(), value), minus_zero)); };
  BitsVector first = hn::Zero(BitsTag());
  BitsVector second = first;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    FloatVector a, b, c, d;
    Loader::group(data, i, a, b, c, d);
    first = hn::Add(first, hn::Add(ones_of(a), ones_of(b)));
    second = hn::Add(second, hn::Add(ones_of(c), ones_of(d)));
  }
  // Each is -1 where a lane is minus zero.
  auto found = static_cast<uint64_t>(-int64_t{hn::GetLane(hn::SumOfLanes(BitsTag(), hn::Add(first, second)))});
  for (; i < count; ++i) {
    const float value = Loader::scalar(data, i);
    found += value == 0 && std::signbit(value) ? 1 : 0;
  }
  return found;
}

// Counts of a block by the bits of its elements, and its largest number: as signed integers those from +0 on keep their order, those below
// come in reverse, and -0 is the smallest. The largest one is taken of the integers because on AVX2 the units of the multiplications also
// have to take the extremes of floats.
struct SignCounts {
  uint64_t sign = 0;
  uint64_t plus_zero = 0;
  uint64_t minus_zero = 0;
  BitsVector piece_low;  // of the elements since the last call of count_piece()
  BitsVector low;
  BitsVector high;

  HWY_INLINE SignCounts() {
    low = piece_low = hn::Set(BitsTag(), std::numeric_limits<int32_t>::max());
    high = hn::Set(BitsTag(), std::numeric_limits<int32_t>::min());
  }

  HWY_INLINE void add_one(FloatVector value) {
    const BitsVector bits = hn::BitCast(BitsTag(), value);
    piece_low = hn::Min(piece_low, bits);
    high = hn::Max(high, bits);
    sign += hn::CountTrue(BitsTag(), hn::Lt(bits, hn::Zero(BitsTag())));
    plus_zero += hn::CountTrue(BitsTag(), hn::Eq(bits, hn::Zero(BitsTag())));
  }

  HWY_INLINE void add_group(FloatVector a, FloatVector b, FloatVector c, FloatVector d) {
    const auto pa = hn::BitCast(BitsTag(), a);
    const auto pb = hn::BitCast(BitsTag(), b);
    const auto pc = hn::BitCast(BitsTag(), c);
    const auto pd = hn::BitCast(BitsTag(), d);
    piece_low = hn::Min(piece_low, hn::Min(hn::Min(pa, pb), hn::Min(pc, pd)));
    high = hn::Max(high, hn::Max(hn::Max(pa, pb), hn::Max(pc, pd)));
    count_signs_of_words(pa, pb, pc, pd, sign, plus_zero);
  }

  // Counts the minus zeros of the elements that were added since the last call, which are still in the nearest cache.
  template <class Loader>
  HWY_INLINE void count_piece(const uint8_t* data, size_t count) {
    const BitsVector lowest = piece_low;
    low = hn::Min(low, lowest);
    piece_low = hn::Set(BitsTag(), std::numeric_limits<int32_t>::max());
    if (hn::AllFalse(BitsTag(), hn::Eq(lowest, hn::Set(BitsTag(), std::numeric_limits<int32_t>::min())))) return;
    minus_zero += count_minus_zeros<Loader>(data, count);
  }

  // The largest number.
  [[nodiscard]] HWY_INLINE float max() const {
    const int32_t highest = hn::GetLane(hn::MaxOfLanes(BitsTag(), high));
    const int32_t bits = highest >= 0 ? highest : hn::GetLane(hn::MinOfLanes(BitsTag(), low));
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
};

// The elements that fill no vector.
template <class Loader>
HWY_INLINE void add_float_tail(const uint8_t* data, size_t begin, size_t count, double shift, BlockSums& sums) {
  for (size_t i = begin; i < count; ++i) {
    const float value = Loader::scalar(data, i);
    const double wide = static_cast<double>(value);
    sums.min = wide < sums.min ? wide : sums.min;
    sums.max = wide > sums.max ? wide : sums.max;
    sums.sum += wide - shift;
    sums.squares += (wide - shift) * (wide - shift);
    sums.zero += value == 0 ? 1 : 0;
    sums.neg_zero += value == 0 && std::signbit(value) ? 1 : 0;
    sums.negative += value < 0 ? 1 : 0;
  }
}

template <class Loader, bool kCounts, bool kShift>
HWY_INLINE void float_block_of(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  const size_t lanes = hn::Lanes(FloatTag());
  const size_t group = 4 * lanes;
  const size_t whole_groups = count / group * group;
  const FloatVector shift_vector = hn::Set(FloatTag(), static_cast<float>(shift));
  FloatSums totals;
  SignCounts signs;
  size_t i = 0;
  while (i < whole_groups) {
    const size_t begin = i;
    const size_t end = HWY_MIN(whole_groups, i + kGroupsOfPiece<kShift> * group);
    for (; i < end; i += group) {
      FloatVector a, b, c, d;
      Loader::group(data, i, a, b, c, d);
      prefetch_ahead(data + i * Loader::kElementBytes);
      totals.template add_group<kCounts, kShift>(a, b, c, d, shift_vector);
      if constexpr (kCounts) signs.add_group(a, b, c, d);
    }
    totals.flush();
    if constexpr (kCounts) signs.template count_piece<Loader>(data + begin * Loader::kElementBytes, end - begin);
  }
  for (; i + lanes <= count; i += lanes) {
    const FloatVector value = Loader::one(data, i);
    totals.template add_one<kCounts, kShift>(value, shift_vector);
    if constexpr (kCounts) signs.add_one(value);
  }
  totals.flush();
  sums.finite = count;
  sums.min = static_cast<double>(hn::GetLane(hn::MinOfLanes(FloatTag(), totals.min)));
  if constexpr (!kCounts) sums.max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(FloatTag(), totals.max)));
  sums.sum = hn::GetLane(hn::SumOfLanes(WideTag(), totals.sum));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.squares));
  if constexpr (kCounts) {
    if (i > whole_groups) signs.template count_piece<Loader>(data + whole_groups * Loader::kElementBytes, i - whole_groups);
    if (i > 0) sums.max = static_cast<double>(signs.max());
    sums.neg_zero = signs.minus_zero;
    sums.zero = signs.plus_zero + sums.neg_zero;
    sums.negative = signs.sign - sums.neg_zero;
  }
  add_float_tail<Loader>(data, i, count, kShift ? static_cast<double>(static_cast<float>(shift)) : 0.0, sums);
}

template <class Loader>
void float_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!request.counts) {
    float_block_of<Loader, false, false>(bytes, count, 0, sums);
  } else if (request.shift == 0) {
    float_block_of<Loader, true, false>(bytes, count, 0, sums);
  } else {
    float_block_of<Loader, true, true>(bytes, count, request.shift, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
