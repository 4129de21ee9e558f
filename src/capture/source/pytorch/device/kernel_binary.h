// Kernels of kernel_code.h as the device takes them: compiled when they are first needed, then kept in the user's cache.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_BINARY_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_BINARY_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "source/pytorch/device/device_driver.h"

namespace tensortap::pytorch {

// The name of the function in it.
inline constexpr const char* kKernelName = "tensortap_statistics";

// The kernel for a type of kernel_code.h ("Float32") and an architecture (90 for sm_90). A device that is newer than the compiler gets a
// text that its driver compiles. kUnsupported with what the compiler says when it refuses.
Result<std::string> compile_kernel(const DeviceCompiler& compiler, std::string_view type, int architecture);

// The same from the cache if the cache has it. Otherwise it is compiled, and written to the cache as far as that is possible.
Result<std::string> kernel_binary(const DeviceCompiler& compiler, std::string_view type, int architecture);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_BINARY_H_
