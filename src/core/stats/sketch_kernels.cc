// Compiles the kernels of sketches once for each instruction set and finds those that the statistics use.

#include "stats/sketch_kernels.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "stats/stats_target.h"
#include "stats/vector_targets.h"
#include "tensor/number_formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/sketch_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for it.
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "stats/sketch_blocks-inl.h"
#include "stats/sketch_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

template <class Lanes, class Blocks>
inline constexpr SketchKernels<typename Lanes::Element> kSketchKernels = {sketch_columns<Lanes>, sketch_run<Lanes>, sketch_blocks<Blocks>};

inline constexpr SketchKernelTable kSketchTable = {TENSORTAP_TARGET_NAME, kSketchKernels<PlainLanes<float>, PlainBlocks<float>>,
                                                   kSketchKernels<PlainLanes<double>, PlainBlocks<double>>,
                                                   kSketchKernels<HalfLanes<Float16Loader>, HalfBlocks<Float16Loader>>,
                                                   kSketchKernels<HalfLanes<BFloat16Loader>, HalfBlocks<BFloat16Loader>>};

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#if HWY_ONCE
namespace tensortap {
namespace {

template <class Elements>
struct ScalarSketch {
  using Element = typename Elements::Element;
  using Number = SquareOf<Element>;

  static Number number(Element element) { return static_cast<Number>(Elements::number(element)); }
  static Number magnitude(Element element) { return std::abs(number(element)); }

  static void columns(const Element* data, uint64_t rows, uint64_t stride, uint64_t width, bool /*zeros*/,
                      const ColumnSums<Element>& sums) {
    for (uint64_t r = 0; r < rows; ++r) {
      for (uint64_t c = 0; c < width; ++c) {
        const Element element = data[r * stride + c];
        const Number value = number(element);
        if (std::abs(value) > magnitude(sums.absmax[c])) sums.absmax[c] = element;
        sums.squares[c] += value * value;
        sums.zeros[c] += value == 0 ? 1 : 0;
      }
    }
  }

  static void run(const Element* data, uint64_t count, bool /*zeros*/, RunSums& sums) {
    sums = {};
    for (uint64_t i = 0; i < count; ++i) {
      const double value = Elements::number(data[i]);
      sums.absmax = std::max(sums.absmax, std::abs(value));
      sums.squares += value * value;
      sums.zeros += value == 0 ? 1 : 0;
    }
  }

  static void blocks(const Element* data, uint64_t blocks, uint32_t block, bool /*zeros*/, double /*absmax*/, BlockTally& tally) {
    for (uint64_t b = 0; b < blocks; ++b, data += block) {
      Number absmax = 0;
      for (uint32_t i = 0; i < block; ++i) absmax = std::max(absmax, magnitude(data[i]));
      if (absmax == 0) {
        ++tally.zero;
        continue;
      }
      ++tally.bins[0][block_bin(static_cast<double>(absmax))];
      for (uint32_t i = 0; i < block; ++i) {
        if (number(data[i]) == 0) continue;
        ++tally.nonzero;
        for (size_t f = 0; f < kUnderflowFormats.size(); ++f) {
          tally.underflow[f] += magnitude(data[i]) * static_cast<Number>(kUnderflowFormats[f].factor) <= absmax ? 1 : 0;
        }
      }
    }
  }

  static constexpr SketchKernels<Element> kKernels = {columns, run, blocks};
};

constexpr SketchKernelTable kScalarSketches = {"scalar", ScalarSketch<Float32Elements>::kKernels, ScalarSketch<Float64Elements>::kKernels,
                                               ScalarSketch<Float16Elements>::kKernels, ScalarSketch<BFloat16Elements>::kKernels};

// Without vectors there is this one alone.
constexpr const SketchKernelTable* kSketchTables[] = {TENSORTAP_OF_ALL_TARGETS(kSketchTable) & kScalarSketches};

}  // namespace

const SketchKernelTable& sketch_kernels_in_use() {
  const std::string_view target = stats_target();
  for (const SketchKernelTable* table : kSketchTables) {
    if (table->name == target) return *table;
  }
  return kScalarSketches;
}

}  // namespace tensortap
#endif  // HWY_ONCE
