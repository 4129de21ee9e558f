// Careful kernels of the floating types, for blocks that hold NaN or Inf, or whose squares leave the range of float: sums in double, every
// element looked at under a mask. A few times slower than the fast ones.

#if defined(TENSORTAP_STATS_CAREFUL_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_CAREFUL_BLOCKS_INL_H_
#undef TENSORTAP_STATS_CAREFUL_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_CAREFUL_BLOCKS_INL_H_
#endif

#include "stats/float_blocks-inl.h"
#include "stats/wide_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

HWY_INLINE void add_careful_scalar(double value, double shift, BlockSums& sums) {
  if (std::isnan(value)) {
    ++sums.nan;
  } else if (std::isinf(value)) {
    ++(value > 0 ? sums.pos_inf : sums.neg_inf);
  } else {
    sums.min = value < sums.min ? value : sums.min;
    sums.max = value > sums.max ? value : sums.max;
    sums.sum += value - shift;
    sums.squares += (value - shift) * (value - shift);
    sums.zero += value == 0 ? 1 : 0;
    sums.neg_zero += value == 0 && std::signbit(value) ? 1 : 0;
    sums.negative += value < 0 ? 1 : 0;
  }
}

// Counts and extremes of one vector of float or double. add() returns the mask of the elements that are not finite.
template <class D>
struct CarefulLanes {
  using V = hn::Vec<D>;
  V min;
  V max;

  HWY_INLINE CarefulLanes() {
    min = hn::Set(D(), static_cast<hn::TFromD<D>>(HUGE_VAL));
    max = hn::Set(D(), static_cast<hn::TFromD<D>>(-HUGE_VAL));
  }

  HWY_INLINE hn::Mask<D> add(V value, BlockSums& sums) {
    const D d;
    const V infinity = hn::Set(d, static_cast<hn::TFromD<D>>(HUGE_VAL));
    const auto is_nan = hn::IsNaN(value);
    const auto is_pos_inf = hn::Eq(value, infinity);
    const auto is_neg_inf = hn::Eq(value, hn::Neg(infinity));
    const auto is_not_finite = hn::Or(is_nan, hn::Or(is_pos_inf, is_neg_inf));
    const auto is_zero = hn::Eq(value, hn::Zero(d));
    const auto is_neg_zero = hn::And(is_zero, hn::Lt(hn::CopySign(hn::Set(d, 1), value), hn::Zero(d)));
    sums.nan += hn::CountTrue(d, is_nan);
    sums.pos_inf += hn::CountTrue(d, is_pos_inf);
    sums.neg_inf += hn::CountTrue(d, is_neg_inf);
    sums.zero += hn::CountTrue(d, is_zero);
    sums.neg_zero += hn::CountTrue(d, is_neg_zero);
    sums.negative += hn::CountTrue(d, hn::Lt(value, hn::Zero(d)));
    min = hn::Min(min, hn::IfThenElse(is_not_finite, infinity, value));
    max = hn::Max(max, hn::IfThenElse(is_not_finite, hn::Neg(infinity), value));
    return is_not_finite;
  }

  HWY_INLINE void finish(BlockSums& sums) const {
    sums.min = static_cast<double>(hn::GetLane(hn::MinOfLanes(D(), min)));
    sums.max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(D(), max)));
    sums.negative -= sums.neg_inf;
  }
};

struct CarefulSums {
  WideVector shift;
  WideVector sum;
  WideVector squares;

  explicit HWY_INLINE CarefulSums(WideVector subtracted) {
    shift = subtracted;
    sum = squares = hn::Zero(WideTag());
  }

  // Adds x - shift of elements in `value`; lanes of the left out ones hold the shift itself.
  HWY_INLINE void add(WideVector value) {
    const WideVector moved = hn::Sub(value, shift);
    sum = hn::Add(sum, moved);
    squares = hn::MulAdd(moved, moved, squares);
  }
};

template <class Loader>
void careful_float_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t lanes = hn::Lanes(FloatTag());
  const hn::Half<FloatTag> half;
  // As the fast kernels: a shift that is a float.
  const auto narrow_shift = static_cast<float>(request.shift);
  const FloatVector fill = hn::Set(FloatTag(), narrow_shift);
  CarefulLanes<FloatTag> extremes;
  CarefulSums totals(hn::Set(WideTag(), static_cast<double>(narrow_shift)));
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const FloatVector value = Loader::one(bytes, i);
    const auto is_not_finite = extremes.add(value, sums);
    const FloatVector kept = hn::IfThenElse(is_not_finite, fill, value);
    totals.add(hn::PromoteTo(WideTag(), hn::LowerHalf(half, kept)));
    totals.add(hn::PromoteTo(WideTag(), hn::UpperHalf(half, kept)));
  }
  extremes.finish(sums);
  sums.sum = hn::GetLane(hn::SumOfLanes(WideTag(), totals.sum));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.squares));
  for (; i < count; ++i) add_careful_scalar(static_cast<double>(Loader::scalar(bytes, i)), static_cast<double>(narrow_shift), sums);
  sums.finite = count - sums.nan - sums.pos_inf - sums.neg_inf;
}

inline void careful_double_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t lanes = hn::Lanes(WideTag());
  const WideVector fill = hn::Set(WideTag(), request.shift);
  CarefulLanes<WideTag> extremes;
  CarefulSums totals(fill);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const WideVector value = hn::LoadU(WideTag(), reinterpret_cast<const double*>(bytes + i * sizeof(double)));
    const auto is_not_finite = extremes.add(value, sums);
    totals.add(hn::IfThenElse(is_not_finite, fill, value));
  }
  extremes.finish(sums);
  sums.sum = hn::GetLane(hn::SumOfLanes(WideTag(), totals.sum));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.squares));
  for (; i < count; ++i) add_careful_scalar(load_scalar<double>(bytes, i), request.shift, sums);
  sums.finite = count - sums.nan - sums.pos_inf - sums.neg_inf;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
