// Fast kernels of float32, float16 and bfloat16: everything in lanes of float, eight (sixteen) at a time.
//
// Counting is done on packed bytes: a float's bits, taken as an integer and narrowed with saturation to eight bits, are negative where the sign is set and
// zero only for +0. So four vectors cost three packs and two counts of a mask. Minus zero is the smallest integer of all, and an integer
// minimum tells whether a block has any.

#if defined(TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#undef TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_FLOAT_BLOCKS_INL_H_
#endif

#include <cmath>
#include <cstring>

#include "hwy/highway.h"
#include "stats/block_kernels.h"
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

// AVX-512 has registers for four sets of sums, AVX2 spills more than two.
inline constexpr size_t kSets = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
// Additions in float before the lanes go over to double: what bounds the error (docs/statistics.md).
inline constexpr size_t kFloatAdditions = 64;

// Where elements come from: `group` loads 4 vectors from element i on (in any order), `one` one vector, `scalar` one element.
struct Float32Loader {
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
  static HWY_INLINE float scalar(const uint8_t* data, size_t i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * 2, 2);
    return float16_to_float(bits);
  }
};

struct BFloat16Loader {
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
  static HWY_INLINE float scalar(const uint8_t* data, size_t i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * 2, 2);
    return bfloat16_to_float(bits);
  }
};

// One set of lanes that depend on each other.
template <bool kShift>
struct FloatSums {
  FloatVector min;
  FloatVector max;
  FloatVector sum;
  FloatVector squares;

  // Written out: a constructor that the compiler makes up would not be compiled for the target.
  HWY_INLINE FloatSums() {
    min = hn::Set(FloatTag(), HUGE_VALF);
    max = hn::Set(FloatTag(), -HUGE_VALF);
    sum = squares = hn::Zero(FloatTag());
  }

  HWY_INLINE void add(FloatVector value, FloatVector shift) {
    min = hn::Min(value, min);
    max = hn::Max(value, max);
    if constexpr (kShift) value = hn::Sub(value, shift);
    sum = hn::Add(sum, value);
    squares = hn::MulAdd(value, value, squares);
  }
};

HWY_INLINE WideVector widen_and_add(FloatVector value, WideVector total) {
  const hn::Half<FloatTag> half;
  const WideVector low = hn::PromoteTo(WideTag(), hn::LowerHalf(half, value));
  const WideVector high = hn::PromoteTo(WideTag(), hn::UpperHalf(half, value));
  return hn::Add(total, hn::Add(low, high));
}

// Moves the sums of all sets into doubles.
template <bool kShift>
HWY_INLINE void flush(FloatSums<kShift> (&sets)[kSets], WideVector& sum, WideVector& squares) {
  FloatVector s = hn::Add(sets[0].sum, sets[1].sum);
  FloatVector q = hn::Add(sets[0].squares, sets[1].squares);
  if constexpr (kSets == 4) {
    s = hn::Add(s, hn::Add(sets[2].sum, sets[3].sum));
    q = hn::Add(q, hn::Add(sets[2].squares, sets[3].squares));
  }
  sum = widen_and_add(s, sum);
  squares = widen_and_add(q, squares);
  for (size_t k = 0; k < kSets; ++k) sets[k].sum = sets[k].squares = hn::Zero(FloatTag());
}

// Counts of a block by the bits of its elements: sign set, +0, and the smallest bit pattern as an integer.
struct SignCounts {
  uint64_t sign = 0;
  uint64_t plus_zero = 0;
  BitsVector low;

  HWY_INLINE SignCounts() { low = hn::Set(BitsTag(), std::numeric_limits<int32_t>::max()); }

  HWY_INLINE void add_one(FloatVector value) {
    const BitsVector bits = hn::BitCast(BitsTag(), value);
    low = hn::Min(low, bits);
    sign += hn::CountTrue(BitsTag(), hn::Lt(bits, hn::Zero(BitsTag())));
    plus_zero += hn::CountTrue(BitsTag(), hn::Eq(bits, hn::Zero(BitsTag())));
  }

  HWY_INLINE void add_group(FloatVector a, FloatVector b, FloatVector c, FloatVector d) {
    const hn::Repartition<int16_t, FloatTag> half;
    const auto pa = hn::BitCast(BitsTag(), a);
    const auto pb = hn::BitCast(BitsTag(), b);
    const auto pc = hn::BitCast(BitsTag(), c);
    const auto pd = hn::BitCast(BitsTag(), d);
    low = hn::Min(low, hn::Min(hn::Min(pa, pb), hn::Min(pc, pd)));
    const auto ab = hn::ReorderDemote2To(half, pa, pb);
    const auto cd = hn::ReorderDemote2To(half, pc, pd);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    const hn::Repartition<int8_t, FloatTag> byte;
#if HWY_TARGET == HWY_AVX3
    const hn::Vec<decltype(byte)> all{_mm512_packs_epi16(ab.raw, cd.raw)};
#else
    const hn::Vec<decltype(byte)> all{_mm256_packs_epi16(ab.raw, cd.raw)};
#endif
    sign += hn::CountTrue(byte, hn::Lt(all, hn::Zero(byte)));
    plus_zero += hn::CountTrue(byte, hn::Eq(all, hn::Zero(byte)));
#else
    sign += hn::CountTrue(half, hn::Lt(ab, hn::Zero(half))) + hn::CountTrue(half, hn::Lt(cd, hn::Zero(half)));
    plus_zero += hn::CountTrue(half, hn::Eq(ab, hn::Zero(half))) + hn::CountTrue(half, hn::Eq(cd, hn::Zero(half)));
#endif
  }
};

template <class Loader>
HWY_NOINLINE uint64_t count_minus_zeros(const uint8_t* data, size_t count) {
  const size_t lanes = hn::Lanes(FloatTag());
  const BitsVector minus_zero = hn::Set(BitsTag(), std::numeric_limits<int32_t>::min());
  uint64_t found = 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    found += hn::CountTrue(BitsTag(), hn::Eq(hn::BitCast(BitsTag(), Loader::one(data, i)), minus_zero));
  }
  for (; i < count; ++i) {
    const float value = Loader::scalar(data, i);
    found += value == 0 && std::signbit(value) ? 1 : 0;
  }
  return found;
}

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
  FloatSums<kShift> sets[kSets];
  SignCounts signs;
  WideVector sum = hn::Zero(WideTag());
  WideVector squares = hn::Zero(WideTag());
  size_t i = 0;
  while (i < whole_groups) {
    const size_t end = HWY_MIN(whole_groups, i + kFloatAdditions * kSets * lanes);
    for (; i < end; i += group) {
      FloatVector a, b, c, d;
      Loader::group(data, i, a, b, c, d);
      sets[0].add(a, shift_vector);
      sets[1].add(b, shift_vector);
      sets[2 % kSets].add(c, shift_vector);
      sets[3 % kSets].add(d, shift_vector);
      if constexpr (kCounts) signs.add_group(a, b, c, d);
    }
    flush(sets, sum, squares);
  }
  for (; i + lanes <= count; i += lanes) {
    const FloatVector value = Loader::one(data, i);
    sets[0].add(value, shift_vector);
    if constexpr (kCounts) signs.add_one(value);
  }
  flush(sets, sum, squares);
  for (size_t k = 1; k < kSets; ++k) {
    sets[0].min = hn::Min(sets[0].min, sets[k].min);
    sets[0].max = hn::Max(sets[0].max, sets[k].max);
  }
  sums.finite = count;
  sums.min = static_cast<double>(hn::GetLane(hn::MinOfLanes(FloatTag(), sets[0].min)));
  sums.max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(FloatTag(), sets[0].max)));
  sums.sum = hn::GetLane(hn::SumOfLanes(WideTag(), sum));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), squares));
  if constexpr (kCounts) {
    const bool has_minus_zero = hn::GetLane(hn::MinOfLanes(BitsTag(), signs.low)) == std::numeric_limits<int32_t>::min();
    sums.neg_zero = has_minus_zero ? count_minus_zeros<Loader>(data, i) : 0;
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
