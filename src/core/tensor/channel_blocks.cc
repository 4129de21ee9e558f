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

// One group of channels: a matrix of positions by channels, turned round, without those behind the first `channels`.
template <class Element>
void turn(const std::byte* source, std::byte* target, uint64_t positions, uint32_t block, uint64_t channels) {
  for (uint64_t tile = 0; tile < positions; tile += kTile) {
    const uint64_t end = std::min(positions, tile + kTile);
    for (uint64_t channel = 0; channel < channels; ++channel) {
      for (uint64_t at = tile; at < end; ++at) {
        std::memcpy(target + (channel * positions + at) * sizeof(Element), source + (at * block + channel) * sizeof(Element),
                    sizeof(Element));
      }
    }
  }
}

using Turn = void (*)(const std::byte*, std::byte*, uint64_t, uint32_t, uint64_t);

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

uint64_t whole_blocks(uint64_t value, uint64_t block) { return (value + block - 1) / block * block; }

// The sizes of a filter and the place of each element where it is stored.
struct FilterPlaces {
  explicit FilterPlaces(const FilterBlocks& filter) : order(filter.order), block(filter.block) {
    const auto dims = filter.shape.dims();
    outputs = dims.empty() ? 0 : static_cast<uint64_t>(dims[0]);
    inputs = dims.size() > 1 ? static_cast<uint64_t>(dims[1]) : 1;
    for (size_t i = 2; i < dims.size(); ++i) positions *= static_cast<uint64_t>(dims[i]);
    filled_inputs = order == FilterOrder::kOutputs ? inputs : whole_blocks(inputs, block);
  }
  [[nodiscard]] uint64_t stored() const { return whole_blocks(outputs, block) * filled_inputs * positions; }
  [[nodiscard]] uint64_t place(uint64_t output, uint64_t input, uint64_t position) const {
    const uint64_t group = output / block;
    if (order == FilterOrder::kOutputs) return ((group * inputs + input) * positions + position) * block + output % block;
    const uint64_t cell = (group * (filled_inputs / block) + input / block) * positions + position;
    return (cell * block + input % block) * block + output % block;
  }
  // Calls move(place in the order of the shape, place where it is stored) for every element.
  template <class Move>
  void each(Move move) const {
    uint64_t plain = 0;
    for (uint64_t output = 0; output < outputs; ++output) {
      for (uint64_t input = 0; input < inputs; ++input) {
        for (uint64_t position = 0; position < positions; ++position) move(plain++, place(output, input, position));
      }
    }
  }

  FilterOrder order;
  uint64_t block;
  uint64_t outputs = 0;
  uint64_t inputs = 1;
  uint64_t positions = 1;
  uint64_t filled_inputs = 1;
};

uint64_t count_other_than_zero(const std::byte* bytes, uint64_t count) {
  return count - static_cast<uint64_t>(std::count(bytes, bytes + count, std::byte{0}));
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

void unblock_channels(const TensorView& view, uint32_t block, uint64_t channels, std::byte* target) {
  const Extent extent = extent_of(view.desc, block);
  const uint64_t bytes = dtype_info(view.desc.dtype).bits / 8;
  const uint64_t group_bytes = extent.positions * block * bytes;
  const Turn turn_group = turn_of(bytes);
  const auto* source = static_cast<const std::byte*>(view.data);
  for (uint64_t image = 0; image < extent.images; ++image) {
    for (uint64_t group = 0; group < extent.groups; ++group, source += group_bytes) {
      const uint64_t first = std::min<uint64_t>(group * block, channels);
      const uint64_t count = std::min<uint64_t>(block, channels - first);
      turn_group(source, target, extent.positions, block, count);
      target += extent.positions * count * bytes;
    }
  }
}

uint64_t unblocked_index(const TensorDesc& desc, uint32_t block, uint64_t index) {
  const Extent extent = extent_of(desc, block);
  const uint64_t group_elements = extent.positions * block;
  const uint64_t within = index % group_elements;
  return index - within + within % block * extent.positions + within / block;
}

std::string_view to_text(FilterOrder order) { return order == FilterOrder::kOutputs ? "OIHWBo" : "OIHWBiBo"; }

std::optional<FilterOrder> filter_order_named(std::string_view name) {
  for (const FilterOrder order : {FilterOrder::kOutputs, FilterOrder::kInputsAndOutputs}) {
    if (name == to_text(order)) return order;
  }
  return std::nullopt;
}

Shape FilterBlocks::filled() const {
  std::array<int64_t, kMaxRank> dims{};
  std::ranges::copy(shape.dims(), dims.begin());
  const FilterPlaces places(*this);
  dims[0] = static_cast<int64_t>(whole_blocks(places.outputs, block));
  if (shape.rank() > 1) dims[1] = static_cast<int64_t>(places.filled_inputs);
  return Shape(std::span(dims).first(static_cast<size_t>(shape.rank())));
}

bool unblock_filter(const FilterBlocks& filter, const std::byte* stored, std::byte* target) {
  const FilterPlaces places(filter);
  const uint64_t bytes = filter.bytes_each;
  uint64_t count = 0;
  places.each([&](uint64_t plain, uint64_t place) {
    std::memcpy(target + plain * bytes, stored + place * bytes, bytes);
    ++count;
  });
  // All that is not zero has to be the filter's.
  return count_other_than_zero(stored, places.stored() * bytes) == count_other_than_zero(target, count * bytes);
}

void block_filter(const FilterBlocks& filter, const std::byte* plain, std::byte* target) {
  const FilterPlaces places(filter);
  const uint64_t bytes = filter.bytes_each;
  std::memset(target, 0, places.stored() * bytes);
  places.each([&](uint64_t from, uint64_t place) { std::memcpy(target + place * bytes, plain + from * bytes, bytes); });
}

}  // namespace tensortap
