// What the files of a torch installation reveal without loading or importing it, and the name of an adapter for it.

#ifndef TENSORTAP_EXEC_TORCH_FILES_H_
#define TENSORTAP_EXEC_TORCH_FILES_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap {

struct TorchRelease {
  int major = 0;
  int minor = 0;
  std::string text;  // "2.13.0+cpu"
};

// "2.13.0+cpu", "2.8.0a0". Nothing when it does not begin with two numbers.
std::optional<TorchRelease> parse_torch_release(std::string_view text);

// Whether this is the version of a build of PyTorch's own releases, which adapters come with: "2.13.0", "2.13.0+cpu", "2.8.0+cu128".
bool is_torch_release(std::string_view text);

// Release of the libtorch_cpu.so at `library`: by version.py of the wheel around it, by build-version of the C++ distribution, or by the
// version in the library's own name. Errors: kNotFound.
Result<TorchRelease> torch_release_beside(const std::string& library);

// "tensortap_torch_2.13_1.so": `string_abi` 1 = std::__cxx11::string.
std::string torch_adapter_file(int major, int minor, int string_abi);

// The release that the name of such a file is of; nothing for other names.
std::optional<TorchRelease> torch_release_of_adapter(std::string_view file);

// The exported function whose mangled name shows the string ABI: 1 has the first, 0 the second.
inline constexpr const char* kTorchStringAbiOne = "_ZN2at11show_configB5cxx11Ev";
inline constexpr const char* kTorchStringAbiZero = "_ZN2at11show_configEv";

}  // namespace tensortap

#endif  // TENSORTAP_EXEC_TORCH_FILES_H_
