// Fast kernels of float16 and bfloat16: sums in lanes of float as for float32, extremes and counts on the 16-bit patterns themselves, where
// a vector holds twice as many.
//
// Both formats are sign and magnitude, so as signed integers the positive ones keep their order and the negative ones in reverse below
// them. Three integer extremes say everything: the largest signed pattern is the largest number unless all are negative; the largest
// unsigned pattern is the smallest number unless none is negative; the smallest signed pattern is the number that is left in both cases,
// and -0 if there is one.

#if defined(TENSORTAP_STATS_HALF_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_HALF_BLOCKS_INL_H_
#undef TENSORTAP_STATS_HALF_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_HALF_BLOCKS_INL_H_
#endif

#include "stats/float_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

struct HalfExtremes {
  using U = hn::ScalableTag<uint16_t>;
  ShortVector smallest;
  ShortVector largest;
  hn::Vec<U> largest_unsigned;

  HWY_INLINE HalfExtremes() {
    smallest = hn::Set(ShortTag(), std::numeric_limits<int16_t>::max());
    largest = hn::Set(ShortTag(), std::numeric_limits<int16_t>::min());
    largest_unsigned = hn::Zero(U());
  }

  HWY_INLINE void add(ShortVector a, ShortVector b) {
    smallest = hn::Min(smallest, hn::Min(a, b));
    largest = hn::Max(largest, hn::Max(a, b));
    largest_unsigned = hn::Max(largest_unsigned, hn::Max(hn::BitCast(U(), a), hn::BitCast(U(), b)));
  }
};

// Joins the elements after the last whole group to those before.
HWY_INLINE void join(const BlockSums& rest, BlockSums& sums) {
  sums.finite += rest.finite;
  sums.min = HWY_MIN(sums.min, rest.min);
  sums.max = HWY_MAX(sums.max, rest.max);
  sums.sum += rest.sum;
  sums.squares += rest.squares;
  sums.zero += rest.zero;
  sums.neg_zero += rest.neg_zero;
  sums.negative += rest.negative;
}

// Sets extremes and completes the counts of the `count` elements of whole groups.
template <class Loader, bool kCounts>
HWY_INLINE void finish_half(const uint8_t* data, size_t count, const HalfExtremes& extremes, BlockSums& sums) {
  const ShortTag tag;
  const auto smallest = hn::GetLane(hn::MinOfLanes(tag, extremes.smallest));
  const auto largest = hn::GetLane(hn::MaxOfLanes(tag, extremes.largest));
  const auto largest_unsigned = hn::GetLane(hn::MaxOfLanes(HalfExtremes::U(), extremes.largest_unsigned));
  const auto left = static_cast<double>(Loader::value(static_cast<uint16_t>(smallest)));
  sums.max = largest >= 0 ? static_cast<double>(Loader::value(static_cast<uint16_t>(largest))) : left;
  sums.min = largest_unsigned >= 0x8000 ? static_cast<double>(Loader::value(largest_unsigned)) : left;
  if constexpr (kCounts) {
    if (smallest == std::numeric_limits<int16_t>::min()) sums.neg_zero = count_minus_zeros<Loader>(data, count);
    sums.zero += sums.neg_zero;
    sums.negative -= sums.neg_zero;
  }
}

template <class Loader, bool kCounts, bool kShift>
HWY_INLINE void half_block_of(const uint8_t* data, size_t count, double shift, BlockSums& sums) {
  const ShortTag tag;
  const size_t lanes = hn::Lanes(tag);
  const size_t group = 2 * lanes;
  const size_t whole_groups = count / group * group;
  const FloatVector shift_vector = hn::Set(FloatTag(), static_cast<float>(shift));
  FloatSums totals;
  HalfExtremes extremes;
  uint64_t sign = 0;
  uint64_t plus_zero = 0;
  size_t i = 0;
  while (i < whole_groups) {
    const size_t end = HWY_MIN(whole_groups, i + kGroupsOfPiece<kShift> * group);
    for (; i < end; i += group) {
      hwy::Prefetch(data + i * 2 + 2048);
      const auto low = hn::LoadU(tag, reinterpret_cast<const int16_t*>(data + i * 2));
      const auto high = hn::LoadU(tag, reinterpret_cast<const int16_t*>(data + (i + lanes) * 2));
      extremes.add(low, high);
      if constexpr (kCounts) count_signs_of_shorts(low, high, sign, plus_zero);
      FloatVector a, b, c, d;
      Loader::group(data, i, a, b, c, d);
      totals.template add_sums<kShift>(a, b, c, d, shift_vector);
    }
    totals.flush();
  }
  sums.sum = hn::GetLane(hn::SumOfLanes(WideTag(), totals.sum));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.squares));
  sums.finite = whole_groups;
  sums.zero = plus_zero;
  sums.negative = sign;
  if (whole_groups > 0) finish_half<Loader, kCounts>(data, whole_groups, extremes, sums);
  if (whole_groups == count) return;
  BlockSums rest;
  float_block_of<Loader, kCounts, kShift>(data + whole_groups * 2, count - whole_groups, shift, rest);
  join(rest, sums);
}

template <class Loader>
void half_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!request.counts) {
    half_block_of<Loader, false, false>(bytes, count, 0, sums);
  } else if (request.shift == 0) {
    half_block_of<Loader, true, false>(bytes, count, 0, sums);
  } else {
    half_block_of<Loader, true, true>(bytes, count, request.shift, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
