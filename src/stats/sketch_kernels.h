// The inner loops of sketches, compiled for every instruction set, for numbers that are all finite.

#ifndef TENSORTAP_STATS_SKETCH_KERNELS_H_
#define TENSORTAP_STATS_SKETCH_KERNELS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "tensor/tensor_sketch.h"

namespace tensortap {

// Sums of neighbouring columns, one number for each.
template <class T>
struct ColumnSums {
  T* absmax;
  T* squares;
  uint32_t* zeros;
};

struct RunSums {
  double absmax = 0;
  double squares = 0;
  uint64_t zeros = 0;
};

// Pointers may have any alignment.
template <class T>
struct SketchKernels {
  // Adds `rows` rows of `width` numbers, `stride` apart, to the sums of their columns.
  void (*columns)(const T* data, uint64_t rows, uint64_t stride, uint64_t width, const ColumnSums<T>& sums);
  // Sets `sums` to those of `count` numbers.
  void (*run)(const T* data, uint64_t count, RunSums& sums);
  // Counts `blocks` whole blocks of `block` numbers, one of kSketchBlocks.
  void (*blocks)(const T* data, uint64_t blocks, uint32_t block, BlockCounts& counts);
};

struct SketchKernelTable {
  std::string_view name;
  SketchKernels<float> floats;
  SketchKernels<double> doubles;
  // `count` elements of two bytes, as floats.
  void (*decode_float16)(const void* data, uint64_t count, float* values);
  void (*decode_bfloat16)(const void* data, uint64_t count, float* values);
};

// The bin of a finite magnitude other than 0.
inline int block_bin(double magnitude) {
  const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52 & 0x7FFU) - 1023;
  return std::clamp(exponent - BlockCounts::kLowestExponent, 0, BlockCounts::kBins - 1);
}
// One number at a time: what is used without vectors, and what the others are held against.
const SketchKernelTable& scalar_sketch_kernels();
// Those of the instruction set that statistics use.
const SketchKernelTable& sketch_kernels_in_use();

}  // namespace tensortap

#endif  // TENSORTAP_STATS_SKETCH_KERNELS_H_
