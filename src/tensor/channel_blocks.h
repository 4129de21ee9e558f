// Tensors whose channels a runtime stores in blocks: dims [N, C, spatial...], in memory [N, C / block, spatial..., block].

#ifndef TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_
#define TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace tensortap {

// Whether a tensor can be stored so: at least two dimensions, whole blocks of channels, elements of whole bytes.
bool has_channel_blocks(const TensorDesc& desc, uint32_t block);

// The dims in the order of memory: [N, C, H, W] in blocks of 8 becomes [N, C / 8, H, W, 8]. has_channel_blocks(), and fewer than kMaxRank
// dimensions.
Shape blocked_shape(const Shape& shape, uint32_t block);

// Writes the packed elements in the order of the dims. `view` is contiguous and has_channel_blocks(); `target` holds packed_bytes().
void unblock_channels(const TensorView& view, uint32_t block, std::byte* target);

// The place in the order of the dims of the element at `index` in memory.
uint64_t unblocked_index(const TensorDesc& desc, uint32_t block, uint64_t index);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_CHANNEL_BLOCKS_H_
