#include "source/pytorch/device/kernel_functions.h"

#include "base/silenced.h"
#include "source/pytorch/device/device_kernels.h"
#include "source/pytorch/device/kernel_results.h"

namespace tensortap::pytorch {
namespace {

constexpr const char* kOtherLayout = "tensor of more dims than the statistics kernel takes";
constexpr const char* kFailed = "the statistics kernel could not be queued";

uint64_t bytes_of_launch(const tensortap_torch_tensor& tensor, uint64_t& parts, const char** reason, int* never) {
  const auto can = DeviceKernels::get().can_measure(*tensor.device, tensor.dtype, reason);
  *never = can == DeviceKernels::Can::kNever ? 1 : 0;
  if (can != DeviceKernels::Can::kNow) return 0;
  const auto work = kernel_work(tensor, 0);
  *reason = kOtherLayout;
  if (!work) return 0;
  *reason = nullptr;
  parts = kernel_part_count(work->count);
  return parts * sizeof(device_kernel::Part);
}

}  // namespace

uint64_t kernel_bytes(const tensortap_torch_tensor* tensor, uint64_t* parts, const char** reason, int* never) {
  *never = 0;
  *reason = kFailed;
  return silenced(uint64_t{0}, [=] { return bytes_of_launch(*tensor, *parts, reason, never); });
}

const char* launch_kernel(const tensortap_torch_tensor* tensor, uint32_t wanted, void* stream, void* results) {
  return silenced(kFailed, [=] { return DeviceKernels::get().launch(*tensor, wanted, stream, results); });
}

int read_kernel(const void* results, uint64_t parts, tensortap_measured* measured) {
  const auto* const written = static_cast<const device_kernel::Part*>(results);
  for (uint64_t i = 0; i < parts; ++i) {
    if (!read_part(written[i], measured[i])) return 0;
  }
  return 1;
}

}  // namespace tensortap::pytorch
