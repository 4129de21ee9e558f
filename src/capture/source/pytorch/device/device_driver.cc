#include "source/pytorch/device/device_driver.h"

#include <dlfcn.h>

#include <optional>
#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "source/pytorch/attach/adapter_places.h"

namespace tensortap::pytorch {
namespace {

// Looks functions up; remembers whether one was missing.
class Lookup {
 public:
  explicit Lookup(void* library) : library_(library) {}
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));  // NOLINT: what dlsym is for
    is_complete_ = is_complete_ && function != nullptr;
  }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

 private:
  void* library_;
  bool is_complete_ = true;
};

// A library of the tests in place of the driver and of the compiler.
void* library_of_tests() {
  const auto path = environment_value("TENSORTAP_TEST_DEVICE_DRIVER");
  return path ? dlopen(path->c_str(), RTLD_LAZY | RTLD_LOCAL) : nullptr;
}

std::optional<DeviceDriver> load_driver() {
  void* library = library_of_tests();
  if (library == nullptr) library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  Lookup look(library);
  DeviceDriver driver{};
  look.find(driver.device_get, "cuDeviceGet");
  look.find(driver.device_attribute, "cuDeviceGetAttribute");
  look.find(driver.context_retain, "cuDevicePrimaryCtxRetain");
  look.find(driver.context_current, "cuCtxGetCurrent");
  look.find(driver.context_push, "cuCtxPushCurrent_v2");
  look.find(driver.context_pop, "cuCtxPopCurrent_v2");
  look.find(driver.module_load, "cuModuleLoadData");
  look.find(driver.module_function, "cuModuleGetFunction");
  look.find(driver.host_address, "cuMemHostGetDevicePointer_v2");
  look.find(driver.launch, "cuLaunchKernel");
  look.find(driver.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  return look.is_complete() ? std::optional(driver) : std::nullopt;
}

// A library by its name, first where the process has it already, then where the loader looks, then in the packages beside torch.
void* load_by_name(const std::string& name, const std::string& packages) {
  for (const int flags : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY | RTLD_LOCAL}) {
    if (void* library = dlopen(name.c_str(), flags); library != nullptr) return library;
  }
  for (const char* folder : {"nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib", "nvidia/cu12/lib", "torch/lib"}) {
    const std::string path = join_path(join_path(packages, folder), name);
    if (!path_exists(path)) continue;
    if (void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

void* load_compiler_library() {
  if (void* library = library_of_tests(); library != nullptr) return library;
  // torch/lib/libtorch_cpu.so
  const std::string packages = parent_path(parent_path(parent_path(loaded_libtorch())));
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
    if (void* library = load_by_name(name, packages); library != nullptr) return library;
  }
  return nullptr;
}

std::optional<DeviceCompiler> load_compiler() {
  void* const library = load_compiler_library();
  if (library == nullptr) return std::nullopt;
  Lookup look(library);
  DeviceCompiler compiler{};
  look.find(compiler.version, "nvrtcVersion");
  look.find(compiler.make, "nvrtcCreateProgram");
  look.find(compiler.compile, "nvrtcCompileProgram");
  look.find(compiler.binary_size, "nvrtcGetCUBINSize");
  look.find(compiler.binary, "nvrtcGetCUBIN");
  look.find(compiler.text_size, "nvrtcGetPTXSize");
  look.find(compiler.text, "nvrtcGetPTX");
  look.find(compiler.destroy, "nvrtcDestroyProgram");
  look.find(compiler.architecture_count, "nvrtcGetNumSupportedArchs");
  look.find(compiler.architectures, "nvrtcGetSupportedArchs");
  return look.is_complete() ? std::optional(compiler) : std::nullopt;
}

}  // namespace

const DeviceDriver* find_device_driver() {
  static const std::optional<DeviceDriver> driver = load_driver();
  return driver ? &*driver : nullptr;
}

const DeviceCompiler* find_device_compiler() {
  static const std::optional<DeviceCompiler> compiler = load_compiler();
  return compiler ? &*compiler : nullptr;
}

}  // namespace tensortap::pytorch
