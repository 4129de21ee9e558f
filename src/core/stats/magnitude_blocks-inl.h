// Sums of the magnitudes of finite elements, and counts of subnormal ones. A second look at a block that is still in the cache: who wants
// neither pays nothing.

#if defined(TENSORTAP_STATS_MAGNITUDE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_MAGNITUDE_BLOCKS_INL_H_
#undef TENSORTAP_STATS_MAGNITUDE_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_MAGNITUDE_BLOCKS_INL_H_
#endif

#include <bit>
#include <cmath>
#include <type_traits>

#include "stats/float_blocks-inl.h"
#include "stats/wide_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

// As floats, and as the integers that their bits are: magnitudes are in the same order.
template <class Loader>
inline constexpr uint32_t kSmallestNormalBits = std::is_same_v<Loader, Float16Loader> ? 0x38800000 : 0x00800000;

template <class Loader>
void float_magnitudes(const void* data, uint64_t count, BlockMagnitudes& found) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t lanes = hn::Lanes(FloatTag());
  const hn::Half<FloatTag> half;
  const BitsVector infinity = hn::Set(BitsTag(), 0x7F800000);
  const BitsVector smallest_normal = hn::Set(BitsTag(), int32_t{kSmallestNormalBits<Loader>});
  WideVector low = hn::Zero(WideTag());
  WideVector high = low;
  // -1 where a lane is subnormal; a block is too short to overflow.
  BitsVector subnormal = hn::Zero(BitsTag());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const FloatVector magnitude = hn::Abs(Loader::one(bytes, i));
    const BitsVector pattern = hn::BitCast(BitsTag(), magnitude);
    const BitsVector is_finite = hn::VecFromMask(BitsTag(), hn::Lt(pattern, infinity));
    const FloatVector kept = hn::BitCast(FloatTag(), hn::And(pattern, is_finite));
    low = hn::Add(low, hn::PromoteTo(WideTag(), hn::LowerHalf(half, kept)));
    high = hn::Add(high, hn::PromoteTo(WideTag(), hn::UpperHalf(half, kept)));
    const BitsVector is_small = hn::VecFromMask(BitsTag(), hn::Lt(pattern, smallest_normal));
    subnormal = hn::Add(subnormal, hn::And(is_small, hn::VecFromMask(BitsTag(), hn::Gt(pattern, hn::Zero(BitsTag())))));
  }
  found.sum = hn::GetLane(hn::SumOfLanes(WideTag(), hn::Add(low, high)));
  found.subnormal = static_cast<uint64_t>(-int64_t{hn::GetLane(hn::SumOfLanes(BitsTag(), subnormal))});
  for (; i < count; ++i) {
    const float magnitude = std::abs(Loader::scalar(bytes, i));
    const auto pattern = std::bit_cast<uint32_t>(magnitude);
    if (pattern < 0x7F800000) found.sum += static_cast<double>(magnitude);
    found.subnormal += pattern > 0 && pattern < kSmallestNormalBits<Loader> ? 1 : 0;
  }
}

inline void double_magnitudes(const void* data, uint64_t count, BlockMagnitudes& found) {
  using WordsTag = hn::RebindToSigned<WideTag>;
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t lanes = hn::Lanes(WideTag());
  const auto infinity = hn::Set(WordsTag(), int64_t{0x7FF0000000000000});
  const auto smallest_normal = hn::Set(WordsTag(), int64_t{0x0010000000000000});
  WideVector sum = hn::Zero(WideTag());
  auto subnormal = hn::Zero(WordsTag());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto pattern =
        hn::BitCast(WordsTag(), hn::Abs(hn::LoadU(WideTag(), reinterpret_cast<const double*>(bytes + i * sizeof(double)))));
    const auto is_finite = hn::VecFromMask(WordsTag(), hn::Lt(pattern, infinity));
    sum = hn::Add(sum, hn::BitCast(WideTag(), hn::And(pattern, is_finite)));
    const auto is_small = hn::VecFromMask(WordsTag(), hn::Lt(pattern, smallest_normal));
    subnormal = hn::Add(subnormal, hn::And(is_small, hn::VecFromMask(WordsTag(), hn::Gt(pattern, hn::Zero(WordsTag())))));
  }
  found.sum = hn::GetLane(hn::SumOfLanes(WideTag(), sum));
  found.subnormal = static_cast<uint64_t>(-hn::GetLane(hn::SumOfLanes(WordsTag(), subnormal)));
  for (; i < count; ++i) {
    const double magnitude = std::abs(load_scalar<double>(bytes, i));
    const auto pattern = std::bit_cast<uint64_t>(magnitude);
    if (pattern < 0x7FF0000000000000) found.sum += magnitude;
    found.subnormal += pattern > 0 && pattern < 0x0010000000000000 ? 1 : 0;
  }
}

// Sums of a block of up to 32-bit integers are exact.
template <class T, bool kIsBool = false>
void integer_magnitudes(const void* data, uint64_t count, BlockMagnitudes& found) {
  using Sum = std::conditional_t<sizeof(T) < 8, uint64_t, double>;
  const auto* bytes = static_cast<const uint8_t*>(data);
  Sum sum{};
  for (size_t i = 0; i < count; ++i) {
    const T value = load_scalar<T>(bytes, i);
    const auto wide = static_cast<uint64_t>(value);
    const uint64_t magnitude = kIsBool ? (value != 0 ? 1 : 0) : (value < 0 ? ~wide + 1 : wide);
    sum += static_cast<Sum>(magnitude);
  }
  found.sum = static_cast<double>(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
