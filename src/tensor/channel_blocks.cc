#include "tensor/channel_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tensortap {
namespace {

constexpr uint64_t kTile = 256;  // positions of one block of channels that stay in the first-level cache

struct Extent {
  uint64_t images;
  uint64_t groups;     // of channels
  uint64_t positions;  // in space
};

Extent extent_of(const TensorDesc& desc, uint32_t block) {
  const auto dims = desc.shape.dims();
  uint64_t positions = 1;
  for (size_t i = 2; i < dims.size(); ++i) positions *= static_cast<uint64_t>(dims[i]);
  return {static_cast<uint64_t>(dims[0]), static_cast<uint64_t>(dims[1]) / block, positions};
}

// One group of channels: a matrix of positions by channels, turned round.
template <class Element>
void turn(const std::byte* source, std::byte* target, uint64_t positions, uint32_t block) {
  for (uint64_t tile = 0; tile < positions; tile += kTile) {
    const uint64_t end = std::min(positions, tile + kTile);
    for (uint32_t channel = 0; channel < block; ++channel) {
      for (uint64_t at = tile; at < end; ++at) {
        std::memcpy(target + (channel * positions + at) * sizeof(Element), source + (at * block + channel) * sizeof(Element),
                    sizeof(Element));
      }
    }
  }
}

using Turn = void (*)(const std::byte*, std::byte*, uint64_t, uint32_t);

Turn turn_of(uint64_t bytes) {
  switch (bytes) {
    case 1:
      return turn<std::array<std::byte, 1>>;
    case 2:
      return turn<std::array<std::byte, 2>>;
    case 4:
      return turn<std::array<std::byte, 4>>;
    case 8:
      return turn<std::array<std::byte, 8>>;
    default:
      return turn<std::array<std::byte, 16>>;
  }
}

}  // namespace

bool has_channel_blocks(const TensorDesc& desc, uint32_t block) {
  const auto dims = desc.shape.dims();
  if (block < 2 || dims.size() < 2 || dims[1] % block != 0) return false;
  const uint64_t bits = dtype_info(desc.dtype).bits;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
}

Shape blocked_shape(const Shape& shape, uint32_t block) {
  std::array<int64_t, kMaxRank> dims{};
  const auto rank = static_cast<size_t>(shape.rank());
  std::ranges::copy(shape.dims(), dims.begin());
  dims[1] /= block;
  dims[rank] = block;
  return Shape(std::span(dims).first(rank + 1));
}

void unblock_channels(const TensorView& view, uint32_t block, std::byte* target) {
  const Extent extent = extent_of(view.desc, block);
  const uint64_t bytes = dtype_info(view.desc.dtype).bits / 8;
  const uint64_t group_bytes = extent.positions * block * bytes;
  const Turn turn_group = turn_of(bytes);
  const auto* source = static_cast<const std::byte*>(view.data);
  for (uint64_t group = 0; group < extent.images * extent.groups; ++group) {
    turn_group(source + group * group_bytes, target + group * group_bytes, extent.positions, block);
  }
}

uint64_t unblocked_index(const TensorDesc& desc, uint32_t block, uint64_t index) {
  const Extent extent = extent_of(desc, block);
  const uint64_t group_elements = extent.positions * block;
  const uint64_t within = index % group_elements;
  return index - within + within % block * extent.positions + within / block;
}

}  // namespace tensortap
