// Statistics of tensors on devices by torch's own operators, where the elements are: the tensor is not copied.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_STATISTICS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_STATISTICS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <tensortap/asking.h>

#include <cstdint>

#include "source/pytorch/adapter/late_copies.h"

namespace tensortap::torch_adapter {

// Queues the operators on the thread's stream, `stream`, and a copy of their results. As tensortap_device::measure(): returns
// TENSORTAP_DEVICE_QUEUED, then look_at_copy() gives the address of the first tensortap_measured; TENSORTAP_DEVICE_FETCH_ONLY and
// *reason; or TENSORTAP_DEVICE_NO_ROOM. Takes some 80 MiB of the device's memory at most, from torch's allocator. Never throws.
int begin_statistics(const at::Tensor& tensor, const c10::Stream& stream, uint32_t wanted, tensortap_measuring& begun,
                     const char** reason) noexcept;

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_STATISTICS_H_
