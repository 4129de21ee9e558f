#include "source/onnxruntime/model/plain_image.h"

#include <algorithm>
#include <new>

#include "source/onnxruntime/model/blocked_graph.h"
#include "tensor/channel_blocks.h"
#include "tensor/tensor.h"

namespace tensortap::onnxruntime {

void PlainImage::describe(int64_t channels, uint32_t block, tensortap_tensor& tensor) {
  // Where an op may broadcast, the runtime inserts a Reshape to [N, C / block, H, W, block]: the same memory with the block as a dimension.
  const bool shows_block = tensor.rank == dims_.size() + 1 && tensor.dims[dims_.size()] == int64_t{block};
  if (channels == kNotBlocked || (tensor.rank != dims_.size() && !shows_block)) return;  // the runtime blocks images only
  std::copy_n(tensor.dims, dims_.size(), dims_.begin());
  if (shows_block) dims_[1] *= block;
  tensor.dims = dims_.data();
  tensor.rank = dims_.size();
  const TensorView view{{static_cast<DType>(tensor.dtype), Shape(dims_)}, tensor.data, nullptr};
  const int64_t filled = dims_[1];
  const bool is_full = channels == kUnknownChannels || channels >= filled || filled - channels >= block;
  if (is_full || !has_channel_blocks(view.desc, block)) {
    tensor.flags |= TENSORTAP_TENSOR_CHANNEL_BLOCK(block);
    return;
  }
  dims_[1] = channels;
  const auto count = element_count(dims_);
  const auto bytes = count.has_value() ? packed_bytes(view.desc.dtype, *count) : std::nullopt;
  if (tensor.data == nullptr || !bytes.has_value() || !reserve(*bytes)) {
    tensor.data = nullptr;
    return;
  }
  unblock_channels(view, block, static_cast<uint64_t>(channels), memory_.get());
  tensor.data = memory_.get();
}

bool PlainImage::reserve(uint64_t bytes) {
  if (bytes <= capacity_) return true;
  memory_.reset();
  memory_.reset(new (std::nothrow) std::byte[bytes]);
  capacity_ = memory_ == nullptr ? 0 : bytes;
  return memory_ != nullptr;
}

}  // namespace tensortap::onnxruntime
