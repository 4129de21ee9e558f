// One launch of a kernel of kernel_code.h: the description of its tensor, and its results.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_RESULTS_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_RESULTS_H_

#include <tensortap/asking.h>

#include <cstdint>
#include <optional>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/device/kernel_code.h"

namespace tensortap::pytorch {

// The name of the type in kernel_code.h, null if there is none.
const char* kernel_type_of(uint32_t dtype);

// How many parts a tensor of so many elements has.
uint64_t kernel_part_count(uint64_t elements);

// The description for the kernel, without `parts`; `wanted`: TENSORTAP_MEASURE_*. Nothing for tensors that it does not measure: those
// without elements, and those of more dims than it takes.
std::optional<device_kernel::Work> kernel_work(const tensortap_torch_tensor& tensor, uint32_t wanted);

// Makes the parts of a launch recognisable as not written.
void clear_parts(device_kernel::Part* parts, uint64_t count);
// What a part says, in the words of the interface. False if the device did not write it.
bool read_part(const device_kernel::Part& part, tensortap_measured& measured);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_RESULTS_H_
