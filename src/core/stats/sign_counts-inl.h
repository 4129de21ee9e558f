// Counts of negative and zero integers of 16 and 32 bits, on packed bytes: narrowing with saturation keeps the sign and makes zero of zero
// only. Four vectors of 32-bit elements cost three packs and two counts of a mask.

#if defined(TENSORTAP_STATS_SIGN_COUNTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SIGN_COUNTS_INL_H_
#undef TENSORTAP_STATS_SIGN_COUNTS_INL_H_
#else
#define TENSORTAP_STATS_SIGN_COUNTS_INL_H_
#endif

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ShortTag = hn::ScalableTag<int16_t>;
using ShortVector = hn::Vec<ShortTag>;

// Asks for the two cache lines 2 kB further on: the loops do enough arithmetic per line to fall behind memory without it. May
// point past the end.
HWY_INLINE void prefetch_ahead(const uint8_t* data) {
  hwy::Prefetch(data + 2048);
  hwy::Prefetch(data + 2048 + 64);
}

// Adds the elements of `a` and `b` that are below zero to `negative`, those that are zero to `zero`.
HWY_INLINE void count_signs_of_shorts(ShortVector a, ShortVector b, uint64_t& negative, uint64_t& zero) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
  const hn::ScalableTag<int8_t> byte;
#if HWY_TARGET == HWY_AVX3
  const hn::Vec<decltype(byte)> both{_mm512_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  const hn::Vec<decltype(byte)> both{_mm256_packs_epi16(a.raw, b.raw)};
#else
  const hn::Vec<decltype(byte)> both{_mm_packs_epi16(a.raw, b.raw)};
#endif
  negative += hn::CountTrue(byte, hn::Lt(both, hn::Zero(byte)));
  zero += hn::CountTrue(byte, hn::Eq(both, hn::Zero(byte)));
#else
  const ShortTag tag;
  negative += hn::CountTrue(tag, hn::Lt(a, hn::Zero(tag))) + hn::CountTrue(tag, hn::Lt(b, hn::Zero(tag)));
  zero += hn::CountTrue(tag, hn::Eq(a, hn::Zero(tag))) + hn::CountTrue(tag, hn::Eq(b, hn::Zero(tag)));
#endif
}

template <class V>
HWY_INLINE void count_signs_of_words(V a, V b, V c, V d, uint64_t& negative, uint64_t& zero) {
  const ShortTag tag;
  count_signs_of_shorts(hn::ReorderDemote2To(tag, a, b), hn::ReorderDemote2To(tag, c, d), negative, zero);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
