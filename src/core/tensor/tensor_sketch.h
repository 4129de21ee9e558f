// A sketch of one tensor: numbers for each channel and each block, which are merged by addition and maximum.
// src/core/stats/sketch.h makes it.

#ifndef TENSORTAP_TENSOR_TENSOR_SKETCH_H_
#define TENSORTAP_TENSOR_TENSOR_SKETCH_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tensortap {

// RecordRow::sketch: whether a record has a sketch, and if not why. Part of the file format of records.npy (docs/layouts/tap.md).
enum class SketchState : uint8_t {
  kNotAsked,
  kThere,
  kNoAxis,           // the tensor has no such axis; the numbers of its blocks are kept if asked for
  kTooManyChannels,  // more than kMostChannels; the numbers of its blocks are kept if asked for
  kNoNumbers,        // texts, a type that is not known, or no values
  kSampled,          // statistics were made of a part of the tensor
  kNotWritten,       // the disk, "max_bytes" or memory had no room
};
inline constexpr int kSketchStates = 7;
// "the tensor has no such axis"; "" of a record that has a sketch, or that none was asked of.
std::string_view sketch_state_text(SketchState state);
// Whether the dump has something of such a record.
constexpr bool has_sketch(SketchState state) {
  return state == SketchState::kThere || state == SketchState::kNoAxis || state == SketchState::kTooManyChannels;
}

inline constexpr uint64_t kMostChannels = 65536;
inline constexpr std::array<uint32_t, 3> kSketchBlocks = {16, 32, 128};

// One channel. A row of sketch_channels.npy.
struct ChannelSums {
  double absmax = 0;       // of the finite elements
  double squares = 0;      // sum of squares of the finite elements
  uint64_t zero = 0;       // of both signs
  uint64_t nonfinite = 0;  // NaN, +Inf, -Inf
  friend bool operator==(const ChannelSums&, const ChannelSums&) = default;
};
static_assert(sizeof(ChannelSums) == 32);

// A format for which underflow is counted: a block is scaled so that its largest magnitude is the format's largest number; small values
// then become 0.
struct UnderflowFormat {
  std::string_view name;
  double factor;  // |x| * factor <= the block's largest magnitude, for x other than 0: the scaled x is rounded to 0
};
inline constexpr std::array<UnderflowFormat, 3> kUnderflowFormats = {{
    {"float4_e2m1", 6 * 4.0},         // largest number over half of the smallest
    {"float8_e4m3fn", 448 * 1024.0},  //
    {"float8_e5m2", 57344 * 0x1p17},
}};

// Blocks along the last axis; the last one of a row may be shorter.
struct BlockCounts {
  static constexpr int kBins = 280;
  static constexpr int kLowestExponent = -150;
  uint64_t bins[kBins] = {};  // blocks by the binary exponent of their largest magnitude, as ExponentHistogram has values
  uint64_t zero = 0;          // blocks of zeros alone
  uint64_t nan = 0;           // blocks with NaN
  uint64_t inf = 0;           // blocks with Inf and without NaN
  uint64_t nonzero = 0;       // elements other than 0 of blocks that are finite
  uint64_t underflow[kUnderflowFormats.size()] = {};  // those among them that become 0, by format
  friend bool operator==(const BlockCounts&, const BlockCounts&) = default;
};
static_assert(sizeof(BlockCounts) == 287 * sizeof(uint64_t));

struct TensorSketch {
  int32_t axis = -1;              // from 0; -1 = no channels were counted
  uint32_t block = 0;             // elements of a block, 0 = no blocks were counted
  uint64_t channel_elements = 0;  // of each channel
  std::vector<ChannelSums> channels;
  BlockCounts blocks;
  friend bool operator==(const TensorSketch&, const TensorSketch&) = default;
};

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_TENSOR_SKETCH_H_
