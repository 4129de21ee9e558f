// Fast kernels of float64 and of 64-bit integers: extremes and counts in the lanes of the type itself, sums in lanes of double.

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

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "stats/block_sums.h"

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

template <bool kShift, class T>
HWY_INLINE void add_wide(hn::Vec<hn::ScalableTag<T>> value, hn::Vec<WideSums::D> shift, WideSums& sums) {
  if constexpr (std::is_same_v<T, double>) {
    sums.template add<kShift>(value, shift);
  } else {
    sums.template add<kShift>(hn::ConvertTo(WideSums::D(), value), shift);
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
  WideSums totals[2];
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    hwy::Prefetch(data + i * sizeof(T) + 2048);
    const auto a = hn::LoadU(native, reinterpret_cast<const T*>(data + i * sizeof(T)));
    const auto b = hn::LoadU(native, reinterpret_cast<const T*>(data + (i + lanes) * sizeof(T)));
    extremes.template add<kCounts>(a, b);
    add_wide<kShift, T>(a, shift_vector, totals[0]);
    add_wide<kShift, T>(b, shift_vector, totals[1]);
  }
  const T min = hn::GetLane(hn::MinOfLanes(native, extremes.min));
  const T max = hn::GetLane(hn::MaxOfLanes(native, extremes.max));
  const typename NativeLanes<T>::C counts;
  sums.zero = static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(counts, extremes.zero)));
  sums.negative = static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(counts, extremes.negative)));
  sums.sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(totals[0].sum, totals[1].sum)));
  sums.squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(totals[0].squares, totals[1].squares)));
  add_wide_tail<T>(data, i, count, shift, min, max, sums);
  if constexpr (kCounts && std::is_floating_point_v<T>) sums.neg_zero = sums.zero > 0 ? count_double_minus_zeros(data, count) : 0;
}

template <class T>
void wide_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!request.counts) {
    wide_block_of<T, false, false>(bytes, count, 0, sums);
  } else if (request.shift == 0) {
    wide_block_of<T, true, false>(bytes, count, 0, sums);
  } else {
    wide_block_of<T, true, true>(bytes, count, request.shift, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
