// Tensors on devices, read through torch: nothing here touches an address of a device on the host.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_COPY_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_COPY_H_

#include <c10/core/Device.h>
#include <tensortap/asking.h>

namespace tensortap::torch_adapter {

// What sessions fetch tensors of this device through; lives as long as the process. The source of a tensor is its tensortap_torch_tensor,
// which is either on this device, or host memory that a call left to a copy from this device (TENSORTAP_TORCH_TENSOR_UNFILLED): that is
// waited for. Null when there is no memory. Any thread.
const tensortap_device* device_memory(c10::Device device);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_COPY_H_
