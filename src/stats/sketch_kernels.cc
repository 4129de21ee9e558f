// Compiles the kernels of sketches once for each instruction set and finds those that the statistics use.

#include "stats/sketch_kernels.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "stats/stats.h"
#include "stats/vector_targets.h"
#include "tensor/number_formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/sketch_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for it.
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "stats/sketch_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

inline constexpr SketchKernelTable kSketchTable = {TENSORTAP_TARGET_NAME,
                                                   {sketch_columns<float>, sketch_run<float>, sketch_blocks<float>},
                                                   {sketch_columns<double>, sketch_run<double>, sketch_blocks<double>},
                                                   decode_halves<Float16Loader>,
                                                   decode_halves<BFloat16Loader>};

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {
namespace {

template <class T>
void scalar_columns(const T* data, uint64_t rows, uint64_t stride, uint64_t width, const ColumnSums<T>& sums) {
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < width; ++c) {
      const T value = data[r * stride + c];
      sums.absmax[c] = std::max(sums.absmax[c], std::abs(value));
      sums.squares[c] += value * value;
      sums.zeros[c] += value == 0 ? 1 : 0;
    }
  }
}

template <class T>
void scalar_run(const T* data, uint64_t count, RunSums& sums) {
  sums = {};
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(data[i]);
    sums.absmax = std::max(sums.absmax, std::abs(value));
    sums.squares += value * value;
    sums.zeros += value == 0 ? 1 : 0;
  }
}

template <class T>
void scalar_blocks(const T* data, uint64_t blocks, uint32_t block, BlockCounts& counts) {
  for (uint64_t b = 0; b < blocks; ++b, data += block) {
    T absmax = 0;
    for (uint32_t i = 0; i < block; ++i) absmax = std::max(absmax, std::abs(data[i]));
    if (absmax == 0) {
      ++counts.zero;
      continue;
    }
    ++counts.bins[block_bin(static_cast<double>(absmax))];
    for (uint32_t i = 0; i < block; ++i) {
      if (data[i] == 0) continue;
      ++counts.nonzero;
      for (size_t f = 0; f < kUnderflowFormats.size(); ++f) {
        counts.underflow[f] += std::abs(data[i]) * static_cast<T>(kUnderflowFormats[f].factor) <= absmax ? 1 : 0;
      }
    }
  }
}

constexpr SketchKernelTable kScalarSketches = {
    "scalar",
    {scalar_columns<float>, scalar_run<float>, scalar_blocks<float>},
    {scalar_columns<double>, scalar_run<double>, scalar_blocks<double>},
    [](const void* data, uint64_t count, float* values) { to_float32(DType::kFloat16, data, 0, count, values); },
    [](const void* data, uint64_t count, float* values) { to_float32(DType::kBFloat16, data, 0, count, values); },
};

// Without vectors there is this one alone.
constexpr const SketchKernelTable* kSketchTables[] = {TENSORTAP_OF_ALL_TARGETS(kSketchTable) & kScalarSketches};

}  // namespace

const SketchKernelTable& scalar_sketch_kernels() { return kScalarSketches; }

const SketchKernelTable& sketch_kernels_in_use() {
  const std::string_view target = stats_target();
  for (const SketchKernelTable* table : kSketchTables) {
    if (table->name == target) return *table;
  }
  return kScalarSketches;
}

}  // namespace tensortap
#endif  // HWY_ONCE
