// Scans for NaN and Inf by bit pattern: in every format they are the patterns from some limit on, once the bits that say nothing are masked
// away and, for formats whose only NaN is minus zero, some are turned around. So a block has one when the largest pattern of it reaches the
// limit: no arithmetic, no floating-point flags, two integer instructions a vector.

#if defined(TENSORTAP_STATS_NONFINITE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_NONFINITE_BLOCKS_INL_H_
#undef TENSORTAP_STATS_NONFINITE_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_NONFINITE_BLOCKS_INL_H_
#endif

#include "hwy/highway.h"
#include "stats/nonfinite_patterns.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class P>
HWY_INLINE hn::Vec<hn::ScalableTag<typename P::Word>> nonfinite_pattern_at(const uint8_t* data, size_t i) {
  using Word = typename P::Word;
  const hn::ScalableTag<Word> tag;
  const auto bits = hn::LoadU(tag, reinterpret_cast<const Word*>(data + i * sizeof(Word)));
  const auto masked = hn::And(bits, hn::Set(tag, P::kMask));
  if constexpr (P::kFlip == 0) return masked;
  return hn::Xor(masked, hn::Set(tag, P::kFlip));
}

template <class P>
bool nonfinite_block(const void* given, uint64_t count) {
  using Word = typename P::Word;
  const hn::ScalableTag<Word> tag;
  const auto* data = static_cast<const uint8_t*>(given);
  const size_t lanes = hn::Lanes(tag);
  if (count < lanes) return has_nonfinite_pattern<P>(data, count);
  // Four chains, so that the maximum's latency does not limit the loop.
  auto a = hn::Zero(tag);
  auto b = a;
  auto c = a;
  auto d = a;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Max(a, nonfinite_pattern_at<P>(data, i));
    b = hn::Max(b, nonfinite_pattern_at<P>(data, i + lanes));
    c = hn::Max(c, nonfinite_pattern_at<P>(data, i + 2 * lanes));
    d = hn::Max(d, nonfinite_pattern_at<P>(data, i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = hn::Max(a, nonfinite_pattern_at<P>(data, i));
  // The last vector again, moved so that it ends where the block does.
  b = hn::Max(b, nonfinite_pattern_at<P>(data, count - lanes));
  const auto largest = hn::Max(hn::Max(a, b), hn::Max(c, d));
  return !hn::AllTrue(tag, hn::Lt(largest, hn::Set(tag, P::kLimit)));
}

struct VectorNonFinite {
  template <class P>
  static bool scan(const void* data, uint64_t count) {
    return nonfinite_block<P>(data, count);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
