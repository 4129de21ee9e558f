// Compiles the kernels once for each instruction set and finds those that this machine can run. The choice is made here and not by
// Highway's library, so that we depend on its headers alone.

#include "stats/block_kernels.h"

#include "stats/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/block_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for it.
#include "hwy/highway.h"

// Without any vectors the reference is as good.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "stats/careful_blocks-inl.h"
#include "stats/float_blocks-inl.h"
#include "stats/half_blocks-inl.h"
#include "stats/magnitude_blocks-inl.h"
#include "stats/nonfinite_blocks-inl.h"
#include "stats/sign_counts-inl.h"
#include "stats/small_float_blocks-inl.h"
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
  MagnitudeKernel magnitudes;
};

inline constexpr KernelRow kRows[] = {
    {DType::kBool, byte_block<uint8_t, true>, byte_block<uint8_t, true>, integer_magnitudes<uint8_t, true>},
    {DType::kInt8, byte_block<int8_t, false>, byte_block<int8_t, false>, integer_magnitudes<int8_t>},
    {DType::kUInt8, byte_block<uint8_t, false>, byte_block<uint8_t, false>, integer_magnitudes<uint8_t>},
    {DType::kInt16, short_block<int16_t>, short_block<int16_t>, integer_magnitudes<int16_t>},
    {DType::kUInt16, short_block<uint16_t>, short_block<uint16_t>, integer_magnitudes<uint16_t>},
    {DType::kInt32, word_block<int32_t>, word_block<int32_t>, integer_magnitudes<int32_t>},
    {DType::kUInt32, word_block<uint32_t>, word_block<uint32_t>, integer_magnitudes<uint32_t>},
    {DType::kInt64, wide_block<int64_t>, wide_block<int64_t>, integer_magnitudes<int64_t>},
    {DType::kUInt64, wide_block<uint64_t>, wide_block<uint64_t>, integer_magnitudes<uint64_t>},
    {DType::kFloat64, wide_block<double>, careful_double_block, double_magnitudes},
    {DType::kFloat32, float_block<Float32Loader>, careful_float_block<Float32Loader>, float_magnitudes<Float32Loader>},
    {DType::kFloat16, half_block<Float16Loader>, careful_float_block<Float16Loader>, float_magnitudes<Float16Loader>},
    {DType::kBFloat16, half_block<BFloat16Loader>, careful_float_block<BFloat16Loader>, float_magnitudes<BFloat16Loader>},
};

constexpr KernelTable make_table() {
  KernelTable table{TENSORTAP_TARGET_NAME, {}, {}, {}, {}, nonfinite_kernels<VectorNonFinite>()};
  for (const KernelRow& row : kRows) {
    table.fast[static_cast<size_t>(row.dtype)] = row.fast;
    table.careful[static_cast<size_t>(row.dtype)] = row.careful;
    table.magnitudes[static_cast<size_t>(row.dtype)] = row.magnitudes;
  }
  table.codes[static_cast<size_t>(DType::kFloat8E4M3FN)] = small_float_block<Float8E4M3FN>;
  table.codes[static_cast<size_t>(DType::kFloat8E4M3FNUZ)] = small_float_block<Float8E4M3FNUZ>;
  table.codes[static_cast<size_t>(DType::kFloat8E5M2)] = small_float_block<Float8E5M2>;
  table.codes[static_cast<size_t>(DType::kFloat8E5M2FNUZ)] = small_float_block<Float8E5M2FNUZ>;
  return table;
}

inline constexpr KernelTable kTable = make_table();

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {
namespace {

// Without vectors there is this one alone.
constexpr const KernelTable* kTables[] = {TENSORTAP_OF_ALL_TARGETS(kTable) nullptr};

bool runs_here([[maybe_unused]] std::string_view target) {
#if HWY_ARCH_X86
  if (target == "AVX3") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2");
  }
  if (target == "AVX2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (target == "SSE4") return __builtin_cpu_supports("sse4.2");
#endif
  return true;
}

struct Available {
  std::array<const KernelTable*, std::size(kTables)> tables{};
  size_t count = 0;
};

Available find_available() {
  Available available;
  for (const KernelTable* table : kTables) {
    if (table != nullptr && runs_here(table->name)) available.tables[available.count++] = table;
  }
  return available;
}

}  // namespace

std::span<const KernelTable* const> available_kernels() {
  static const Available available = find_available();
  return {available.tables.data(), available.count};
}

}  // namespace tensortap
#endif  // HWY_ONCE
