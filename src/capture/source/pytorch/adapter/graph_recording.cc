#include "source/pytorch/adapter/graph_recording.h"

#include <dlfcn.h>

namespace tensortap::torch_adapter {
namespace {

constexpr int kRelaxed = 2;
// The errors of a call that a recording forbids.
constexpr int kFirstRecordingError = 900;
constexpr int kLastRecordingError = 909;

using IsCapturing = int (*)(void* stream, int* status);
using ExchangeMode = int (*)(int* mode);
using StreamOf = void* (*)(const c10::Stream*);

// A function of a library that the process has already loaded, which means that the program uses the device.
template <class Function>
Function loaded(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
}

template <class Function>
Function of_driver(const char* cuda, const char* hip) {
  const auto found = loaded<Function>("libcuda.so.1", cuda);
  if (found != nullptr) return found;
  for (const char* library : {"libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"}) {
    const auto other = loaded<Function>(library, hip);
    if (other != nullptr) return other;
  }
  return nullptr;
}

// Releases before 2.11 have it only for their own classes of streams, which contain nothing but a Stream.
StreamOf stream_function() {
  const auto found = loaded<StreamOf>("libc10_cuda.so", "_ZNK3c104cuda10CUDAStream6streamEv");
  return found != nullptr ? found : loaded<StreamOf>("libc10_hip.so", "_ZNK3c103hip9HIPStream6streamEv");
}

// The driver's handle of the stream. `found` is false where torch does not report it.
template <class Device>
void* handle_of(const Device& device, const c10::Stream& stream, bool& found) {
  found = true;
  if constexpr (requires { device.getStreamNativeHandle(stream); }) {
    return device.getStreamNativeHandle(stream);
  } else {
    static const StreamOf stream_of = stream_function();
    found = stream_of != nullptr;
    return found ? stream_of(&stream) : nullptr;
  }
}

// Releases before 2.12 do not report it, and later ones throw an exception for some devices.
template <class Device>
bool torch_says_recorded(const Device& device, const c10::Stream& stream) {
  if constexpr (requires { device.isStreamCapturing(stream); }) {
    try {
      return device.isStreamCapturing(stream);
    } catch (...) {
    }
  }
  return false;
}

bool driver_records(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream) {
  static const auto is_capturing = of_driver<IsCapturing>("cuStreamIsCapturing", "hipStreamIsCapturing");
  if (is_capturing == nullptr) return false;
  bool found = false;
  void* const handle = handle_of(device, stream, found);
  int status = 0;
  if (!found) return false;
  const int result = is_capturing(handle, &status);
  return result == 0 ? status != 0 : result >= kFirstRecordingError && result <= kLastRecordingError;
}

}  // namespace

bool is_recorded(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream) {
  if (torch_says_recorded(device, stream)) return true;
  try {
    return stream.device_type() == c10::DeviceType::CUDA && driver_records(device, stream);
  } catch (...) {
    return false;
  }
}

bool find_native_stream(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream, void*& handle) {
  bool found = false;
  try {
    handle = handle_of(device, stream, found);
  } catch (...) {
    return false;
  }
  return found;
}

RecordingsOfOthers::RecordingsOfOthers(c10::DeviceType type) {
  static const auto exchange = of_driver<ExchangeMode>("cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode");
  if (type != c10::DeviceType::CUDA || exchange == nullptr) return;
  mode_ = kRelaxed;
  changed_ = exchange(&mode_) == 0;
}

RecordingsOfOthers::~RecordingsOfOthers() {
  static const auto exchange = of_driver<ExchangeMode>("cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode");
  if (changed_) exchange(&mode_);
}

}  // namespace tensortap::torch_adapter
