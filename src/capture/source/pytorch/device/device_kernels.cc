#include "source/pytorch/device/device_kernels.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/environment.h"
#include "base/signals_blocked.h"
#include "base/silenced.h"
#include "base/wait.h"
#include "source/pytorch/device/kernel_binary.h"
#include "source/pytorch/device/kernel_results.h"

namespace tensortap::pytorch {
namespace {

constexpr int kUnknown = 0;
constexpr int kBeingMade = 1;
constexpr int kReady = 2;
constexpr int kRefused = 3;

constexpr const char* kOtherKind = "device without a kernel of ours";
constexpr const char* kOtherType = "type that the kernel does not measure";
constexpr const char* kNotReady = "before the statistics kernel was ready";
constexpr const char* kNoDriver = "no driver for the statistics kernel";
constexpr const char* kNoCompiler = "no NVRTC that compiles the statistics kernel";
constexpr const char* kNotMade = "the statistics kernel could not be made";
constexpr const char* kRefusedLaunch = "the device refused the statistics kernel";
constexpr const char* kChild = "forked child";

constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr int kUnifiedAddressing = 41;
constexpr int kUsesHostPointers = 91;  // also of host memory that was registered
constexpr int kRelaxed = 2;
constexpr int64_t kLongestMakingNs = 20'000'000'000;

// Makes a context the thread's own while it lives.
class InContext {
 public:
  InContext(const DeviceDriver& driver, void* context) : driver_(driver) {
    void* current = nullptr;
    if (driver_.context_current(&current) == 0 && current == context) {
      is_there_ = true;
      return;
    }
    is_there_ = pushed_ = driver_.context_push(context) == 0;
  }
  ~InContext() {
    void* popped = nullptr;
    if (pushed_) driver_.context_pop(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  [[nodiscard]] bool is_there() const { return is_there_; }

 private:
  const DeviceDriver& driver_;
  bool is_there_ = false;
  bool pushed_ = false;
};

// Devices of AMD have this name in torch, too; they have no driver of NVIDIA's.
bool has_kernels(const tensortap_device& device) {
  static const bool is_test = environment_value("TENSORTAP_TEST_DEVICE_DRIVER").has_value();
  return is_test || std::string_view(device.name) == "cuda";
}

}  // namespace

DeviceKernels& DeviceKernels::get() {
  static auto& kernels = *new DeviceKernels;
  return kernels;
}

DeviceKernels::DeviceKernels() : process_(getpid()) {}

DeviceKernels::Can DeviceKernels::can_measure(const tensortap_device& device, uint32_t dtype, const char** reason) {
  *reason = kOtherKind;
  if (!has_kernels(device) || device.index < 0 || static_cast<size_t>(device.index) >= kMostDevices) return Can::kNever;
  Device& known = devices_[static_cast<size_t>(device.index)];
  *reason = known.why_never.load(std::memory_order_relaxed);
  if (*reason != nullptr) return Can::kNever;
  *reason = kOtherType;
  if (dtype >= TENSORTAP_DTYPE_COUNT || kernel_type_of(dtype) == nullptr) return Can::kNotThis;
  Kernel& kernel = known.kernels[dtype];
  const int state = kernel.state.load(std::memory_order_acquire);
  *reason = kNotMade;
  if (state == kRefused) return Can::kNotThis;
  *reason = kChild;
  if (getpid() != process_) return Can::kNotThis;
  if (state == kReady) return Can::kNow;
  *reason = kNotReady;
  int expected = kUnknown;
  if (state == kUnknown && kernel.state.compare_exchange_strong(expected, kBeingMade)) request({device.index, dtype});
  return Can::kLater;
}

const char* DeviceKernels::launch(const tensortap_torch_tensor& tensor, uint32_t wanted, void* stream, void* parts) {
  auto work = kernel_work(tensor, wanted);
  if (!work) return kOtherType;
  Device& device = devices_[static_cast<size_t>(tensor.device->index)];
  const DeviceDriver& driver = *find_device_driver();
  const InContext in(driver, device.context);
  auto address = reinterpret_cast<uint64_t>(parts);
  if (in.is_there() && (device.has_host_addresses || driver.host_address(&address, parts, 0) == 0)) {
    work->parts = reinterpret_cast<device_kernel::Part*>(address);
    void* parameters[] = {&*work};
    void* const function = device.kernels[tensor.dtype].function.load(std::memory_order_relaxed);
    const auto blocks = static_cast<unsigned>(kernel_part_count(work->count));
    clear_parts(static_cast<device_kernel::Part*>(parts), blocks);
    if (driver.launch(function, blocks, 1, 1, device_kernel::kThreads, 1, 1, 0, stream, parameters, nullptr) == 0) return nullptr;
  }
  device.why_never.store(kRefusedLaunch, std::memory_order_relaxed);
  return kRefusedLaunch;
}

void DeviceKernels::request(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(job);
  if (is_working_ || has_finished_) return;
  is_working_ = true;
  working_.store(1);
  const SignalsBlocked blocked;
  const bool started = silenced(false, [this] {
    std::thread([this] { work(); }).detach();
    return true;
  });
  if (started) return;
  is_working_ = false;
  working_.store(0);
}

void DeviceKernels::work() {
  for (;;) {
    Job job;
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.empty() || has_finished_) {
        is_working_ = false;
        working_.store(0);
        return;
      }
      job = jobs_.back();
      jobs_.pop_back();
    }
    const bool made = silenced(false, [&] {
      make(job);
      return true;
    });
    if (!made) devices_[static_cast<size_t>(job.first)].kernels[job.second].state.store(kRefused);
  }
}

const char* DeviceKernels::prepare(Device& device, int number) {
  const DeviceDriver* const driver = find_device_driver();
  if (driver == nullptr) return kNoDriver;
  if (find_device_compiler() == nullptr) return kNoCompiler;
  // What the compiler's library registered to run when the process ends runs after this.
  static const int registered = std::atexit([] { DeviceKernels::get().finish(); });
  static_cast<void>(registered);
  if (device.context != nullptr) return nullptr;
  int mode = kRelaxed;
  driver->exchange_mode(&mode);  // a recording of another thread forbids what follows in any other mode
  int handle = 0;
  int major = 0;
  int minor = 0;
  const bool known = driver->device_get(&handle, number) == 0 && driver->device_attribute(&major, kComputeCapabilityMajor, handle) == 0 &&
                     driver->device_attribute(&minor, kComputeCapabilityMinor, handle) == 0;
  // The program uses the device, so that this context is its own already.
  if (!known || driver->context_retain(&device.context, handle) != 0) return kNotMade;
  device.architecture = 10 * major + minor;
  const auto has = [&](int attribute) {
    int value = 0;
    return driver->device_attribute(&value, attribute, handle) == 0 && value != 0;
  };
  device.has_host_addresses = has(kUnifiedAddressing) && has(kUsesHostPointers);
  return nullptr;
}

void DeviceKernels::make(Job job) {
  Device& device = devices_[static_cast<size_t>(job.first)];
  Kernel& kernel = device.kernels[job.second];
  if (const char* reason = prepare(device, job.first); reason != nullptr) {
    device.why_never.store(reason, std::memory_order_relaxed);
    return;
  }
  const DeviceDriver& driver = *find_device_driver();
  const auto binary = kernel_binary(*find_device_compiler(), kernel_type_of(job.second), device.architecture);
  void* module = nullptr;
  void* function = nullptr;
  const InContext in(driver, device.context);
  int mode = kRelaxed;
  driver.exchange_mode(&mode);
  const bool is_loaded = binary.ok() && in.is_there() && driver.module_load(&module, binary->data()) == 0 &&
                         driver.module_function(&function, module, kKernelName) == 0;
  kernel.function.store(function, std::memory_order_relaxed);
  kernel.state.store(is_loaded ? kReady : kRefused, std::memory_order_release);
}

void DeviceKernels::finish() {
  if (getpid() != process_) return;
  {
    const std::lock_guard lock(mutex_);
    has_finished_ = true;
  }
  wait_for_zero(working_, kLongestMakingNs);
}

void DeviceKernels::resume() {
  if (getpid() != process_) return;
  bool has_jobs = false;
  Job job;
  {
    const std::lock_guard lock(mutex_);
    has_finished_ = false;
    has_jobs = !jobs_.empty() && !is_working_;
    if (has_jobs) {
      job = jobs_.back();
      jobs_.pop_back();
    }
  }
  if (has_jobs) request(job);
}

}  // namespace tensortap::pytorch
