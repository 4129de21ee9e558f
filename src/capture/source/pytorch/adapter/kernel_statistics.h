// Statistics of tensors on devices by a kernel of ours, in one launch: the tensor is not copied, and no memory of the device is taken.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_KERNEL_STATISTICS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_KERNEL_STATISTICS_H_

#include <c10/core/Stream.h>
#include <tensortap/asking.h>

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

// The tracker has the kernel; set once, before a tensor is measured.
void set_kernel_tracker(const tensortap_torch_tracker* tracker);

// A tensor to measure on the thread's stream.
struct KernelTask {
  const tensortap_torch_tensor& facts;
  c10::Stream stream;
  uint32_t wanted;  // TENSORTAP_MEASURE_*
};

// Queues the kernel. As tensortap_device::measure(). `never`: no kernel will ever measure on this device. Never throws.
int begin_kernel(const KernelTask& task, tensortap_measuring& begun, const char** reason, bool& never) noexcept;

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_KERNEL_STATISTICS_H_
