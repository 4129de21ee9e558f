// Compiles the kernels once for each instruction set that the statistics know.

#include "compare/pair_kernels.h"

#include "stats/stats.h"
#include "stats/stats_target.h"
#include "stats/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/pair_kernels.cc"
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

constexpr PairKernelTable make_pair_table() {
  PairKernelTable table{TENSORTAP_TARGET_NAME, {}, {}, piece_block};
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

inline constexpr PairKernelTable kPairTable = make_pair_table();

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {

const PairKernelTable* pair_kernels_in_use() {
  // The null keeps the array from being empty on machines without vectors.
  static constexpr const PairKernelTable* kTables[] = {TENSORTAP_OF_ALL_TARGETS(kPairTable) nullptr};
  for (const PairKernelTable* table : kTables) {
    if (table != nullptr && table->name == stats_target()) return table;
  }
  return nullptr;
}

}  // namespace tensortap
#endif  // HWY_ONCE
