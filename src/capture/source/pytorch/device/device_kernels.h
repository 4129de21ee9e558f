// The kernels of kernel_code.h on the devices of this process: compiled and loaded by a thread of ours, launched on the program's streams.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_KERNELS_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_KERNELS_H_

#include <tensortap/asking.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/device/device_driver.h"

namespace tensortap::pytorch {

// The process has one, which is never destroyed. Thread-safe; of no use in a forked child.
class DeviceKernels {
 public:
  static DeviceKernels& get();

  // Whether a kernel measures tensors of this type on the device now. kLater: it is being made. kNever: it never will on this device.
  enum class Can : uint8_t { kNow, kLater, kNotThis, kNever };
  // *reason: why it cannot. Begins to make the kernel at the first question. Never waits.
  Can can_measure(const tensortap_device& device, uint32_t dtype, const char** reason);

  // Queues the kernel on the stream, the driver's handle; `wanted`: TENSORTAP_MEASURE_*. The device writes kernel_part_count() parts to
  // `parts`, in host memory that it can reach. Null, or why nothing was queued; then can_measure() says kNever. After can_measure() said
  // kNow.
  const char* launch(const tensortap_torch_tensor& tensor, uint32_t wanted, void* stream, void* parts);

  // Waits until no kernel is being made, and begins no more: the compiler must not run while the process ends.
  void finish();
  // After finish(): begins again.
  void resume();

 private:
  static constexpr size_t kMostDevices = 64;
  struct Kernel {
    std::atomic<int> state{0};  // kUnknown ... of the source
    std::atomic<void*> function{nullptr};
  };
  struct Device {
    std::atomic<const char*> why_never{nullptr};
    void* context = nullptr;  // set before a kernel's state says that it is ready
    int architecture = 0;
    bool has_host_addresses = false;  // pinned memory has the same addresses for the device
    std::array<Kernel, TENSORTAP_DTYPE_COUNT> kernels;
  };
  using Job = std::pair<int, uint32_t>;  // a device and a dtype

  DeviceKernels();
  void request(Job job);
  void work();
  void make(Job job);
  const char* prepare(Device& device, int number);

  const int process_;
  std::mutex mutex_;
  std::vector<Job> jobs_;
  bool is_working_ = false;
  bool has_finished_ = false;
  std::atomic<int> working_{0};
  std::array<Device, kMostDevices> devices_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_KERNELS_H_
