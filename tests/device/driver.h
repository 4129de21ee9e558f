// The driver of the test device, and its compiler: the functions that tensortap looks up by name. Threads of the device run the statistics
// kernel. TAPDEV_KERNEL names a fault.
#ifndef TENSORTAP_TESTS_DEVICE_DRIVER_H_
#define TENSORTAP_TESTS_DEVICE_DRIVER_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "run_kernel.h"
#include "streams.h"

namespace tapdev {

inline bool has_fault(std::string_view name) {
  const char* const fault = std::getenv("TAPDEV_KERNEL");
  return fault != nullptr && fault == name;
}

// The handle of a stream in the driver.
inline void* native_handle(int device, int64_t stream) { return reinterpret_cast<void*>(device * kStreams + stream + 1); }

inline thread_local void* current_context = nullptr;
inline std::atomic<int64_t> launches{0};
inline std::atomic<int64_t> compilations{0};

inline constexpr std::string_view kImage = "image of ";

struct Program {
  std::string type;
};

inline int launch(const std::string& type, unsigned blocks, void* stream, const tensortap::device_kernel::Work& told) {
  const auto number = reinterpret_cast<int64_t>(stream) - 1;
  if (number < 0 || number >= kDevices * kStreams || current_context == nullptr || has_fault("refuses launch")) return 1;
  if (recording) ++broken_recordings;
  ++launches;
  tensortap::device_kernel::Work work = told;
  work.data = Arena::get().readable(work.data);
  queue(static_cast<int>(number / kStreams), number % kStreams).push([type, work, blocks] {
    if (has_fault("writes nothing")) return;
    tensortap::device_kernel::run_kernel(type, work, blocks);
    if (has_fault("counts wrong")) ++work.parts[0].zero;
  });
  return 0;
}

}  // namespace tapdev

#define TAPDEV_DRIVER extern "C" __attribute__((visibility("default"))) int

TAPDEV_DRIVER cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < tapdev::kDevices ? 0 : 101;
}
TAPDEV_DRIVER cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  const bool is_unified = attribute == 41 || attribute == 91;
  *value = attribute == 75 ? 9 : is_unified && !tapdev::has_fault("other addresses") ? 1 : 0;
  return 0;
}
TAPDEV_DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<intptr_t>(0x1000 + device));
  return tapdev::has_fault("no context") ? 201 : 0;
}
TAPDEV_DRIVER cuCtxGetCurrent(void** context) {
  *context = tapdev::current_context;
  return 0;
}
TAPDEV_DRIVER cuCtxPushCurrent_v2(void* context) {
  if (tapdev::current_context != nullptr) return 201;  // one is enough for what is tested
  tapdev::current_context = context;
  return 0;
}
TAPDEV_DRIVER cuCtxPopCurrent_v2(void** context) {
  *context = std::exchange(tapdev::current_context, nullptr);
  return 0;
}
TAPDEV_DRIVER cuModuleLoadData(void** module, const void* image) {
  const std::string_view text(static_cast<const char*>(image));
  if (tapdev::current_context == nullptr || tapdev::has_fault("refuses module") || !text.starts_with(tapdev::kImage)) return 200;
  *module = new std::string(text.substr(tapdev::kImage.size()));
  return 0;
}
TAPDEV_DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return std::strcmp(name, "tensortap_statistics") == 0 ? 0 : 500;
}
TAPDEV_DRIVER cuMemHostGetDevicePointer_v2(uint64_t* address, void* host, unsigned /*flags*/) {
  *address = reinterpret_cast<uint64_t>(host);
  return tapdev::has_fault("other addresses") ? 0 : 1;
}
TAPDEV_DRIVER cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y, unsigned threads_z,
                             unsigned shared, void* stream, void** parameters, void** extra) {
  if (y != 1 || z != 1 || threads != tensortap::device_kernel::kThreads || threads_y != 1 || threads_z != 1) return 1;
  if (shared != 0 || extra != nullptr) return 1;
  return tapdev::launch(*static_cast<const std::string*>(function), x, stream,
                        *static_cast<const tensortap::device_kernel::Work*>(parameters[0]));
}
TAPDEV_DRIVER cuThreadExchangeStreamCaptureMode(int* mode) {
  *mode = 0;
  return 0;
}

TAPDEV_DRIVER nvrtcVersion(int* major, int* minor) {
  *major = 1;
  *minor = 0;
  return 0;
}
TAPDEV_DRIVER nvrtcCreateProgram(void** program, const char* source, const char* /*name*/, int /*count*/, const char* const* /*headers*/,
                                 const char* const* /*names*/) {
  *program = new tapdev::Program;
  return std::strstr(source, "tensortap_statistics") == nullptr ? 1 : 0;
}
TAPDEV_DRIVER nvrtcCompileProgram(void* program, int count, const char* const* options) {
  constexpr std::string_view kType = "--define-macro=TENSORTAP_KERNEL_TYPE=";
  ++tapdev::compilations;
  if (tapdev::has_fault("compiles slowly")) std::this_thread::sleep_for(std::chrono::milliseconds(700));
  for (int i = 0; i < count; ++i) {
    const std::string_view option(options[i]);
    if (option.starts_with(kType)) static_cast<tapdev::Program*>(program)->type = option.substr(kType.size());
  }
  return tapdev::has_fault("refuses code") ? 6 : 0;
}
TAPDEV_DRIVER nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = tapdev::kImage.size() + static_cast<tapdev::Program*>(program)->type.size() + 1;
  return 0;
}
TAPDEV_DRIVER nvrtcGetCUBIN(void* program, char* bytes) {
  const std::string text = std::string(tapdev::kImage) + static_cast<tapdev::Program*>(program)->type;
  std::memcpy(bytes, text.c_str(), text.size() + 1);
  return 0;
}
TAPDEV_DRIVER nvrtcGetPTXSize(void* /*program*/, size_t* size) {
  *size = 0;
  return 0;
}
TAPDEV_DRIVER nvrtcGetPTX(void* /*program*/, char* /*bytes*/) { return 1; }
TAPDEV_DRIVER nvrtcDestroyProgram(void** program) {
  delete static_cast<tapdev::Program*>(std::exchange(*program, nullptr));
  return 0;
}
TAPDEV_DRIVER nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
TAPDEV_DRIVER nvrtcGetSupportedArchs(int* numbers) {
  numbers[0] = 90;
  return 0;
}

#endif  // TENSORTAP_TESTS_DEVICE_DRIVER_H_
