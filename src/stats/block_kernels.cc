// Compiles the kernels once for each instruction set and finds those that this machine can run. The choice is made here and not by
// Highway's library, so that we depend on its headers alone.

#include "stats/block_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/block_kernels.cc"
// SSSE3 alone and the extras of newer AVX-512 gain nothing here; vectors of unknown length cannot be members of structures.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for it.
#include "hwy/highway.h"

// Without any vectors the reference is as good.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "stats/careful_blocks-inl.h"
#include "stats/float_blocks-inl.h"
#include "stats/half_blocks-inl.h"
#include "stats/nonfinite_blocks-inl.h"
#include "stats/sign_counts-inl.h"
#include "stats/small_integer_blocks-inl.h"
#include "stats/wide_blocks-inl.h"
#include "stats/word_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

struct KernelRow {
  DType dtype;
  BlockKernel fast;
  BlockKernel careful;
};

inline constexpr KernelRow kRows[] = {
    {DType::kBool, byte_block<uint8_t, true>, byte_block<uint8_t, true>},
    {DType::kInt8, byte_block<int8_t, false>, byte_block<int8_t, false>},
    {DType::kUInt8, byte_block<uint8_t, false>, byte_block<uint8_t, false>},
    {DType::kInt16, short_block<int16_t>, short_block<int16_t>},
    {DType::kUInt16, short_block<uint16_t>, short_block<uint16_t>},
    {DType::kInt32, word_block<int32_t>, word_block<int32_t>},
    {DType::kUInt32, word_block<uint32_t>, word_block<uint32_t>},
    {DType::kInt64, wide_block<int64_t>, wide_block<int64_t>},
    {DType::kUInt64, wide_block<uint64_t>, wide_block<uint64_t>},
    {DType::kFloat64, wide_block<double>, careful_double_block},
    {DType::kFloat32, float_block<Float32Loader>, careful_float_block<Float32Loader>},
    {DType::kFloat16, half_block<Float16Loader>, careful_float_block<Float16Loader>},
    {DType::kBFloat16, half_block<BFloat16Loader>, careful_float_block<BFloat16Loader>},
};

constexpr KernelTable make_table(std::string_view name) {
  KernelTable table{name, {}, {}, nonfinite_kernels<VectorNonFinite>()};
  for (const KernelRow& row : kRows) {
    table.fast[static_cast<size_t>(row.dtype)] = row.fast;
    table.careful[static_cast<size_t>(row.dtype)] = row.careful;
  }
  return table;
}

#if HWY_TARGET == HWY_AVX3
inline constexpr KernelTable kTable = make_table("AVX3");
#elif HWY_TARGET == HWY_AVX2
inline constexpr KernelTable kTable = make_table("AVX2");
#elif HWY_TARGET == HWY_SSE4
inline constexpr KernelTable kTable = make_table("SSE4");
#else
inline constexpr KernelTable kTable = make_table("NEON");
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {
namespace {

struct Available {
  std::array<const KernelTable*, 4> tables{};
  size_t count = 0;

  void add_if(bool runs, const KernelTable& table) {
    if (runs) tables[count++] = &table;
  }
};

Available find_available() {
  Available available;
#if HWY_TARGETS & HWY_AVX3
  available.add_if(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2"),
                   N_AVX3::kTable);
#endif
#if HWY_TARGETS & HWY_AVX2
  available.add_if(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"), N_AVX2::kTable);
#endif
#if HWY_TARGETS & HWY_SSE4
  available.add_if(__builtin_cpu_supports("sse4.2"), N_SSE4::kTable);
#endif
#if HWY_TARGETS & HWY_NEON
  available.add_if(true, N_NEON::kTable);
#endif
  return available;
}

}  // namespace

std::span<const KernelTable* const> available_kernels() {
  static const Available available = find_available();
  return {available.tables.data(), available.count};
}

}  // namespace tensortap
#endif  // HWY_ONCE
