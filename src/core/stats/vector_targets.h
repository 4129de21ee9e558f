// The instruction sets that kernels are compiled for: one list for all files that Highway compiles several times. To be included in place
// of hwy/detect_targets.h, before hwy/foreach_target.h.

#ifndef TENSORTAP_STATS_VECTOR_TARGETS_H_
#define TENSORTAP_STATS_VECTOR_TARGETS_H_

// SSSE3 alone and the extras of newer AVX-512 gain nothing here; vectors of unknown length cannot be members of structures.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// After the line above, which it obeys.
#include "hwy/detect_targets.h"

// The name of the instruction set that is being compiled.
#define TENSORTAP_TARGET_NAME (HWY_TARGET == HWY_AVX3 ? "AVX3" : HWY_TARGET == HWY_AVX2 ? "AVX2" : HWY_TARGET == HWY_SSE4 ? "SSE4" : "NEON")

// The addresses of `name` in the namespaces of all instruction sets, each followed by a comma, the best first. Use it once, within the
// namespace around theirs.
#define TENSORTAP_OF_ALL_TARGETS(name) TENSORTAP_OF_AVX3(name) TENSORTAP_OF_AVX2(name) TENSORTAP_OF_SSE4(name) TENSORTAP_OF_NEON(name)

#if HWY_TARGETS & HWY_AVX3
#define TENSORTAP_OF_AVX3(name) &N_AVX3::name,
#else
#define TENSORTAP_OF_AVX3(name)
#endif
#if HWY_TARGETS & HWY_AVX2
#define TENSORTAP_OF_AVX2(name) &N_AVX2::name,
#else
#define TENSORTAP_OF_AVX2(name)
#endif
#if HWY_TARGETS & HWY_SSE4
#define TENSORTAP_OF_SSE4(name) &N_SSE4::name,
#else
#define TENSORTAP_OF_SSE4(name)
#endif
#if HWY_TARGETS & HWY_NEON
#define TENSORTAP_OF_NEON(name) &N_NEON::name,
#else
#define TENSORTAP_OF_NEON(name)
#endif

#endif  // TENSORTAP_STATS_VECTOR_TARGETS_H_
