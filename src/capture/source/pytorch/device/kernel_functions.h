// What the adapter calls of the kernels: functions of tensortap_torch_tracker.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_FUNCTIONS_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_FUNCTIONS_H_

#include <tensortap/asking.h>

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// Their contracts are in adapter_interface.h. No function throws.
uint64_t kernel_bytes(const tensortap_torch_tensor* tensor, uint64_t* parts, const char** reason, int* never);
const char* launch_kernel(const tensortap_torch_tensor* tensor, uint32_t wanted, void* stream, void* results);
int read_kernel(const void* results, uint64_t parts, tensortap_measured* measured);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_FUNCTIONS_H_
