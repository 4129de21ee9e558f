// The inner loops of sketches, compiled for every instruction set, for numbers that are all finite.

#ifndef TENSORTAP_STATS_SKETCH_KERNELS_H_
#define TENSORTAP_STATS_SKETCH_KERNELS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tensor/number_formats.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {

// The elements that kernels read as they are. `Element` is how they are stored; patterns of halves without a sign have the order of the
// numbers.
struct Float32Elements {
  using Element = float;
  static double number(float element) { return static_cast<double>(element); }
};
struct Float64Elements {
  using Element = double;
  static double number(double element) { return element; }
};
struct Float16Elements {
  using Element = uint16_t;
  static double number(uint16_t pattern) { return static_cast<double>(float16_to_float(pattern)); }
};
struct BFloat16Elements {
  using Element = uint16_t;
  static double number(uint16_t pattern) { return static_cast<double>(bfloat16_to_float(pattern)); }
};

// Squares are summed in double for doubles, else in float.
template <class Element>
using SquareOf = std::conditional_t<std::is_same_v<Element, double>, double, float>;

// The most rows of columns that are summed up in float before the sums must go over to double (docs/statistics.md).
inline constexpr uint64_t kMostSketchRows = 64;

// Sums of neighbouring columns, one number for each.
template <class Element>
struct ColumnSums {
  Element* absmax;
  SquareOf<Element>* squares;
  uint32_t* zeros;
};

struct RunSums {
  double absmax = 0;
  double squares = 0;
  uint64_t zeros = 0;
};

// Sums over blocks.
struct BlockTally {
  // Neighbouring blocks use different ones of the four: most blocks have the same bin, and one would wait for the other. Their sum is the
  // result.
  uint64_t bins[4][BlockCounts::kBins] = {};
  uint64_t zero = 0;
  uint64_t nonzero = 0;
  uint64_t underflow[kUnderflowFormats.size()] = {};
};

// Elements are aligned as their type is. `zeros`: whether some may be 0; without, a kernel is faster and leaves their counts alone.
template <class Element>
struct SketchKernels {
  // Adds `rows` rows of `width` numbers, `stride` apart, to the sums of their columns; kMostSketchRows at most.
  void (*columns)(const Element* data, uint64_t rows, uint64_t stride, uint64_t width, bool zeros, const ColumnSums<Element>& sums);
  // Sets `sums` to those of `count` numbers.
  void (*run)(const Element* data, uint64_t count, bool zeros, RunSums& sums);
  // Counts `blocks` whole blocks of `block` numbers, one of kSketchBlocks. No magnitude is above `absmax`.
  void (*blocks)(const Element* data, uint64_t blocks, uint32_t block, bool zeros, double absmax, BlockTally& tally);
};

struct SketchKernelTable {
  std::string_view name;
  SketchKernels<float> float32;
  SketchKernels<double> float64;
  SketchKernels<uint16_t> float16;
  SketchKernels<uint16_t> bfloat16;

  template <class Elements>
  [[nodiscard]] const auto& of() const {
    if constexpr (std::is_same_v<Elements, Float32Elements>) {
      return float32;
    } else if constexpr (std::is_same_v<Elements, Float64Elements>) {
      return float64;
    } else if constexpr (std::is_same_v<Elements, Float16Elements>) {
      return float16;
    } else {
      return bfloat16;
    }
  }
};

// The bin of a finite magnitude other than 0.
inline int block_bin(double magnitude) {
  const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52 & 0x7FFU) - 1023;
  return std::clamp(exponent - BlockCounts::kLowestExponent, 0, BlockCounts::kBins - 1);
}
// Those of the instruction set that statistics use.
const SketchKernelTable& sketch_kernels_in_use();

}  // namespace tensortap

#endif  // TENSORTAP_STATS_SKETCH_KERNELS_H_
