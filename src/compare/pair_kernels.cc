// Compiles the kernels once for each instruction set that the statistics know.

#include "compare/pair_kernels.h"

#include "stats/stats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/pair_kernels.cc"
// As in stats/block_kernels.cc, whose choice of the instruction set holds here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for it.
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "compare/pair_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

template <class Pairs>
constexpr void set_kernels(DType dtype, PairKernelTable& table) {
  table.pairs[static_cast<size_t>(dtype)] = pair_block<Pairs>;
  table.squares[static_cast<size_t>(dtype)] = squares_of_block<typename Pairs::Loader>;
}

constexpr PairKernelTable make_pair_table(std::string_view name) {
  PairKernelTable table{name, {}, {}, piece_block};
  set_kernels<Float32Pairs>(DType::kFloat32, table);
  set_kernels<Float16Pairs>(DType::kFloat16, table);
  set_kernels<BFloat16Pairs>(DType::kBFloat16, table);
  set_kernels<IntegerPairs<int8_t>>(DType::kInt8, table);
  set_kernels<IntegerPairs<uint8_t>>(DType::kUInt8, table);
  set_kernels<IntegerPairs<int16_t>>(DType::kInt16, table);
  set_kernels<IntegerPairs<uint16_t>>(DType::kUInt16, table);
  table.pairs[static_cast<size_t>(DType::kFloat64)] = double_block;
  table.squares[static_cast<size_t>(DType::kFloat64)] = squares_of_doubles;
  return table;
}

#if HWY_TARGET == HWY_AVX3
inline constexpr PairKernelTable kPairTable = make_pair_table("AVX3");
#elif HWY_TARGET == HWY_AVX2
inline constexpr PairKernelTable kPairTable = make_pair_table("AVX2");
#elif HWY_TARGET == HWY_SSE4
inline constexpr PairKernelTable kPairTable = make_pair_table("SSE4");
#else
inline constexpr PairKernelTable kPairTable = make_pair_table("NEON");
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {

const PairKernelTable* pair_kernels_in_use() {
  static constexpr const PairKernelTable* kTables[] = {
#if HWY_TARGETS & HWY_AVX3
    &N_AVX3::kPairTable,
#endif
#if HWY_TARGETS & HWY_AVX2
    &N_AVX2::kPairTable,
#endif
#if HWY_TARGETS & HWY_SSE4
    &N_SSE4::kPairTable,
#endif
#if HWY_TARGETS & HWY_NEON
    &N_NEON::kPairTable,
#endif
    nullptr,
  };
  for (const PairKernelTable* table : kTables) {
    if (table != nullptr && table->name == stats_target()) return table;
  }
  return nullptr;
}

}  // namespace tensortap
#endif  // HWY_ONCE
