#include "source/pytorch/adapter/device_elements.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace tensortap::torch_adapter {
namespace {

// A gather takes memory of the device, so it is used only where a tensor's span would be so much more than its elements.
constexpr int64_t kMostSpan = 8;
constexpr int64_t kSmallSpan = 1 << 20;

}  // namespace

at::Tensor flat(const at::Tensor& tensor, bool& packed) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  packed = last + 1 > std::max(kMostSpan * tensor.numel(), kSmallSpan);
  return packed ? tensor.contiguous().view({-1}) : tensor.as_strided({last + 1}, {1}, tensor.storage_offset());
}

}  // namespace tensortap::torch_adapter
