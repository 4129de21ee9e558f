// Fast kernels of float64 and of 32 and 64 bit integers: extremes and counts in the lanes of the type itself, sums in lanes of double.

#if defined(TENSORTAP_STATS_WIDE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_WIDE_BLOCKS_INL_H_
#undef TENSORTAP_STATS_WIDE_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_WIDE_BLOCKS_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "stats/block_kernels.h"
#include "stats/sign_counts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T load_scalar(const uint8_t* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

struct WideSums {
  using D = hn::ScalableTag<double>;
  hn::Vec<D> sum;
  hn::Vec<D> squares;

  // Written out: a constructor that the compiler makes up would not be compiled for the target.
  HWY_INLINE WideSums() { sum = squares = hn::Zero(D()); }

  template <bool kShift>
  HWY_INLINE void add(hn::Vec<D> value, hn::Vec<D> shift) {
    if constexpr (kShift) value = hn::Sub(value, shift);
    sum = hn::Add(sum, value);
    squares = hn::MulAdd(value, value, squares);
  }
};

// Exact: the 52 bits of a double's mantissa hold every 32-bit number.
template <class D, class V>
HWY_INLINE hn::Vec<D> unsigned_to_double(D d, V words) {
  const hn::RebindToUnsigned<D> wide;
  const auto bits = hn::Or(hn::PromoteTo(wide, words), hn::Set(wide, 0x4330000000000000U));
  return hn::Sub(hn::BitCast(d, bits), hn::Set(d, 0x1p52));
}

template <bool kShift, class T>
HWY_INLINE void add_wide(hn::Vec<hn::ScalableTag<T>> value, hn::Vec<WideSums::D> shift, WideSums& even, WideSums& odd) {
  const hn::ScalableTag<T> native;
  const WideSums::D d;
  if constexpr (std::is_same_v<T, double>) {
    even.template add<kShift>(value, shift);
  } else if constexpr (sizeof(T) == 8) {
    even.template add<kShift>(hn::ConvertTo(d, value), shift);
  } else {
    const hn::Half<decltype(native)> half;
    const auto low = hn::LowerHalf(half, value);
    const auto high = hn::UpperHalf(half, value);
    if constexpr (std::is_signed_v<T>) {
      even.template add<kShift>(hn::PromoteTo(d, low), shift);
      odd.template add<kShift>(hn::PromoteTo(d, high), shift);
    } else {
      even.template add<kShift>(unsigned_to_double(d, low), shift);
      odd.template add<kShift>(unsigned_to_double(d, high), shift);
    }
  }
}

// Extremes and counts in lanes of T.
template <class T>
struct NativeLanes {
  using D = hn::ScalableTag<T>;
  using C = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  V min;
  V max;
  hn::Vec<C> zero;
  hn::Vec<C> negative;

  HWY_INLINE NativeLanes() {
    min = hn::Set(D(), std::is_floating_point_v<T> ? static_cast<T>(HUGE_VAL) : std::numeric_limits<T>::max());
    max = hn::Set(D(), std::is_floating_point_v<T> ? static_cast<T>(-HUGE_VAL) : std::numeric_limits<T>::lowest());
    zero = negative = hn::Zero(C());
  }

  // A true lane is -1.
  HWY_INLINE hn::Vec<C> is_zero(V value) const { return hn::BitCast(C(), hn::VecFromMask(D(), hn::Eq(value, hn::Zero(D())))); }
  HWY_INLINE hn::Vec<C> is_negative(V value) const { return hn::BitCast(C(), hn::VecFromMask(D(), hn::Lt(value, hn::Zero(D())))); }

  template <bool kCounts>
  HWY_INLINE void add(V a, V b) {
    min = hn::Min(min, hn::Min(a, b));
    max = hn::Max(max, hn::Max(a, b));
    if constexpr (kCounts) {
      zero = hn::Sub(zero, hn::Add(is_zero(a), is_zero(b)));
      if constexpr (std::is_signed_v<T>) negative = hn::Sub(negative, hn::Add(is_negative(a), is_negative(b)));
    }
  }
};

inline uint64_t count_double_minus_zeros(const uint8_t* data, size_t count) {
  uint64_t found = 0;
  for (size_t i = 0; i < count; ++i) found += load_scalar<uint64_t>(data, i) == uint64_t{1} << 63 ? 1 : 0;
  return found;
}

// Turns extremes of T into those of `sums`.
template <class T>
HWY_INLINE void set_extremes(T min, T max, BlockSums& sums) {
  sums.min = static_cast<double>(min);
  sums.max = static_cast<double>(max);
  if constexpr (std::is_integral_v<T>) {
    sums.min_integer = static_cast<int64_t>(min);
    sums.max_integer = static_cast<int64_t>(max);
  }
}

HWY_INLINE void add_totals(const WideSums (&totals)[4], BlockSums& sums) {
  const WideSums::D d;
  sums.sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(totals[0].sum, totals[1].sum), hn::Add(totals[2].sum, totals[3].sum))));
  sums.squares =
      hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(totals[0].squares, totals[1].squares), hn::Add(totals[2].squares, totals[3].squares))));
}

// Adds the elements that fill no vector; `min` and `max` are the extremes of the others.
template <class T>
HWY_INLINE void add_wide_tail(const uint8_t* data, size_t begin, size_t count, double shift, T min, T max, BlockSums& sums) {
  for (size_t i = begin; i < count; ++i) {
    const T value = load_scalar<T>(data, i);
    const double moved = static_cast<double>(value) - shift;
    min = value < min ? value : min;
    max = value > max ? value : max;
    sums.sum += moved;
    sums.squares += moved * moved;
    sums.zero += value == 0 ? 1 : 0;
    if constexpr (std::is_signed_v<T>) sums.negative += value < 0 ? 1 : 0;
  }
  set_extremes(min, max, sums);
  sums.finite = count;
}

template <class T, bool kCounts, bool kShift>
HWY_INLINE void wide_block_of(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  const hn::ScalableTag<T> native;
  const WideSums::D d;
  const size_t lanes = hn::Lanes(native);
  const auto shift_vector = hn::Set(d, shift);
  NativeLanes<T> extremes;
  WideSums totals[4];
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::LoadU(native, reinterpret_cast<const T*>(data + i * sizeof(T)));
    const auto b = hn::LoadU(native, reinterpret_cast<const T*>(data + (i + lanes) * sizeof(T)));
    extremes.template add<kCounts>(a, b);
    add_wide<kShift, T>(a, shift_vector, totals[0], totals[1]);
    add_wide<kShift, T>(b, shift_vector, totals[2], totals[3]);
  }
  const T min = hn::GetLane(hn::MinOfLanes(native, extremes.min));
  const T max = hn::GetLane(hn::MaxOfLanes(native, extremes.max));
  const typename NativeLanes<T>::C counts;
  sums.zero = static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(counts, extremes.zero)));
  sums.negative = static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(counts, extremes.negative)));
  add_totals(totals, sums);
  add_wide_tail<T>(data, i, count, shift, min, max, sums);
  if constexpr (kCounts && std::is_floating_point_v<T>) sums.neg_zero = sums.zero > 0 ? count_double_minus_zeros(data, count) : 0;
}

// The same for 32-bit integers, four vectors at a time, whose signs are counted on packed bytes.
template <class T, bool kCounts, bool kShift>
HWY_INLINE void word_block_of(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  const hn::ScalableTag<T> native;
  const hn::ScalableTag<int32_t> word;
  const size_t lanes = hn::Lanes(native);
  const size_t whole_groups = count / (4 * lanes) * (4 * lanes);
  const auto shift_vector = hn::Set(WideSums::D(), shift);
  NativeLanes<T> extremes;
  WideSums totals[4];
  uint64_t negative = 0;
  uint64_t zero = 0;
  for (size_t i = 0; i < whole_groups; i += 4 * lanes) {
    const auto* from = data + i * sizeof(T);
    const auto a = hn::LoadU(native, reinterpret_cast<const T*>(from));
    const auto b = hn::LoadU(native, reinterpret_cast<const T*>(from + lanes * sizeof(T)));
    const auto c = hn::LoadU(native, reinterpret_cast<const T*>(from + 2 * lanes * sizeof(T)));
    const auto e = hn::LoadU(native, reinterpret_cast<const T*>(from + 3 * lanes * sizeof(T)));
    extremes.min = hn::Min(extremes.min, hn::Min(hn::Min(a, b), hn::Min(c, e)));
    extremes.max = hn::Max(extremes.max, hn::Max(hn::Max(a, b), hn::Max(c, e)));
    if constexpr (kCounts) {
      count_signs_of_words(hn::BitCast(word, a), hn::BitCast(word, b), hn::BitCast(word, c), hn::BitCast(word, e), negative, zero);
    }
    add_wide<kShift, T>(a, shift_vector, totals[0], totals[1]);
    add_wide<kShift, T>(b, shift_vector, totals[2], totals[3]);
    add_wide<kShift, T>(c, shift_vector, totals[0], totals[1]);
    add_wide<kShift, T>(e, shift_vector, totals[2], totals[3]);
  }
  const T min = hn::GetLane(hn::MinOfLanes(native, extremes.min));
  const T max = hn::GetLane(hn::MaxOfLanes(native, extremes.max));
  sums.zero = zero;
  sums.negative = std::is_signed_v<T> ? negative : 0;
  add_totals(totals, sums);
  add_wide_tail<T>(data, whole_groups, count, shift, min, max, sums);
}

template <class T, bool kCounts, bool kShift>
HWY_INLINE void word_or_wide_block(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  if constexpr (sizeof(T) == 4) {
    word_block_of<T, kCounts, kShift>(data, count, shift, sums);
  } else {
    wide_block_of<T, kCounts, kShift>(data, count, shift, sums);
  }
}

template <class T>
void wide_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!request.counts) {
    word_or_wide_block<T, false, false>(bytes, count, 0, sums);
  } else if (request.shift == 0) {
    word_or_wide_block<T, true, false>(bytes, count, 0, sums);
  } else {
    word_or_wide_block<T, true, true>(bytes, count, request.shift, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
