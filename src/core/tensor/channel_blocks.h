// Tensors whose channels a runtime stores in blocks: dims [N, C, spatial...], in memory [N, C / block, spatial..., block]. Where C is no
// multiple of the block, the runtime fills the last block up with more channels.

#ifndef TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_
#define TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace tensortap {

// Whether a tensor can be stored so: at least two dimensions, whole blocks of channels, elements of whole bytes.
bool has_channel_blocks(const TensorDesc& desc, uint32_t block);

// The dims in the order of memory: [N, C, H, W] in blocks of 8 becomes [N, C / 8, H, W, 8]. has_channel_blocks(), and fewer than kMaxRank
// dimensions.
Shape blocked_shape(const Shape& shape, uint32_t block);

// Writes the first `channels` of the channels, all = dims[1], as packed elements in the order of the dims. `view` is contiguous and
// has_channel_blocks(); `target` holds the bytes of as many channels.
void unblock_channels(const TensorView& view, uint32_t block, uint64_t channels, std::byte* target);

// The place in the order of the dims of the element at `index` in memory.
uint64_t unblocked_index(const TensorDesc& desc, uint32_t block, uint64_t index);

// How a runtime stores the filters [O, I, spatial...] of such convolutions. A bias is a filter [O, 1].
enum class FilterOrder : uint8_t {
  kOutputs,           // "OIHWBo": [O / block, I, spatial..., block]
  kInputsAndOutputs,  // "OIHWBiBo": [O / block, I / block, spatial..., block of I, block of O]
};
std::string_view to_text(FilterOrder order);
std::optional<FilterOrder> filter_order_named(std::string_view name);

// A filter, and how the runtime stores it.
struct FilterBlocks {
  FilterOrder order = FilterOrder::kOutputs;
  uint32_t block = 0;
  Shape shape;              // [O, I, spatial...] or [O]
  uint64_t bytes_each = 4;  // of an element: 1, 2, 4 or 8

  // The shape with whole blocks of channels.
  [[nodiscard]] Shape filled() const;
};

// Writes a filter in the order of its shape. `stored` holds filled(), `target` the shape. False when the channels that fill up the blocks
// are not zero: the order is another one then, and `target` is of no use.
bool unblock_filter(const FilterBlocks& filter, const std::byte* stored, std::byte* target);
// The other way round. `target` holds filled().
void block_filter(const FilterBlocks& filter, const std::byte* plain, std::byte* target);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_
