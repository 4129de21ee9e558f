// Fast kernels of 32-bit integers: extremes and counts in their own lanes, sums in lanes of double, in which the sum of a block is exact.

#if defined(TENSORTAP_STATS_WORD_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_WORD_BLOCKS_INL_H_
#undef TENSORTAP_STATS_WORD_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_WORD_BLOCKS_INL_H_
#endif

#include "stats/sign_counts-inl.h"
#include "stats/wide_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

// Exact: the 52 bits of a double's mantissa hold every 32-bit number.
template <class D, class V>
HWY_INLINE hn::Vec<D> unsigned_to_double(D d, V words) {
  const hn::RebindToUnsigned<D> wide;
  const auto bits = hn::Or(hn::PromoteTo(wide, words), hn::Set(wide, 0x4330000000000000U));
  return hn::Sub(hn::BitCast(d, bits), hn::Set(d, 0x1p52));
}

// The lower and the upper half of a vector of words as doubles.
template <class T>
HWY_INLINE void to_doubles(hn::Vec<hn::ScalableTag<T>> words, hn::Vec<WideSums::D>& low, hn::Vec<WideSums::D>& high) {
  const WideSums::D d;
  const hn::Half<hn::ScalableTag<T>> half;
  if constexpr (std::is_signed_v<T>) {
    low = hn::PromoteTo(d, hn::LowerHalf(half, words));
    high = hn::PromoteTo(d, hn::UpperHalf(half, words));
  } else {
    low = unsigned_to_double(d, hn::LowerHalf(half, words));
    high = unsigned_to_double(d, hn::UpperHalf(half, words));
  }
}

// Few registers: AVX2 has sixteen.
struct WordSums {
  hn::Vec<WideSums::D> sum;
  hn::Vec<WideSums::D> squares_low;
  hn::Vec<WideSums::D> squares_high;

  HWY_INLINE WordSums() { sum = squares_low = squares_high = hn::Zero(WideSums::D()); }

  template <bool kShift, class T>
  HWY_INLINE void add(hn::Vec<hn::ScalableTag<T>> words, hn::Vec<WideSums::D> shift) {
    hn::Vec<WideSums::D> low, high;
    to_doubles<T>(words, low, high);
    if constexpr (kShift) {
      low = hn::Sub(low, shift);
      high = hn::Sub(high, shift);
    }
    sum = hn::Add(sum, hn::Add(low, high));
    squares_low = hn::MulAdd(low, low, squares_low);
    squares_high = hn::MulAdd(high, high, squares_high);
  }
};

template <class T, bool kCounts, bool kShift>
HWY_INLINE void word_block_of(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  const hn::ScalableTag<T> native;
  const hn::ScalableTag<int32_t> word;
  const size_t lanes = hn::Lanes(native);
  const size_t whole_groups = count / (4 * lanes) * (4 * lanes);
  const auto shift_vector = hn::Set(WideSums::D(), shift);
  NativeLanes<T> extremes;
  WordSums even;
  WordSums odd;
  uint64_t negative = 0;
  uint64_t zero = 0;
  for (size_t i = 0; i < whole_groups; i += 4 * lanes) {
    const auto* from = data + i * sizeof(T);
    prefetch_ahead(from);
    const auto a = hn::LoadU(native, reinterpret_cast<const T*>(from));
    const auto b = hn::LoadU(native, reinterpret_cast<const T*>(from + lanes * sizeof(T)));
    const auto c = hn::LoadU(native, reinterpret_cast<const T*>(from + 2 * lanes * sizeof(T)));
    const auto e = hn::LoadU(native, reinterpret_cast<const T*>(from + 3 * lanes * sizeof(T)));
    extremes.min = hn::Min(extremes.min, hn::Min(hn::Min(a, b), hn::Min(c, e)));
    extremes.max = hn::Max(extremes.max, hn::Max(hn::Max(a, b), hn::Max(c, e)));
    if constexpr (kCounts) {
      count_signs_of_words(hn::BitCast(word, a), hn::BitCast(word, b), hn::BitCast(word, c), hn::BitCast(word, e), negative, zero);
    }
    even.template add<kShift, T>(a, shift_vector);
    odd.template add<kShift, T>(b, shift_vector);
    even.template add<kShift, T>(c, shift_vector);
    odd.template add<kShift, T>(e, shift_vector);
  }
  const T min = hn::GetLane(hn::MinOfLanes(native, extremes.min));
  const T max = hn::GetLane(hn::MaxOfLanes(native, extremes.max));
  sums.zero = zero;
  sums.negative = std::is_signed_v<T> ? negative : 0;
  const WideSums::D d;
  sums.sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even.sum, odd.sum)));
  const auto squares = hn::Add(hn::Add(even.squares_low, even.squares_high), hn::Add(odd.squares_low, odd.squares_high));
  sums.squares = hn::GetLane(hn::SumOfLanes(d, squares));
  add_wide_tail<T>(data, whole_groups, count, shift, min, max, sums);
}

template <class T>
void word_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!request.counts) {
    word_block_of<T, false, false>(bytes, count, 0, sums);
  } else if (request.shift == 0) {
    word_block_of<T, true, false>(bytes, count, 0, sums);
  } else {
    word_block_of<T, true, true>(bytes, count, request.shift, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
