// Finds and loads the adapter that fits the libtorch of this process.

#ifndef TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_LOADER_H_
#define TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_LOADER_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

struct TorchVersion {
  int major = 0;
  int minor = 0;
  int string_abi = 1;                    // 1: std::__cxx11::string
  bool released = false;                 // it is a build of PyTorch's own releases, which prebuilt adapters fit
  std::string build_id;                  // GNU build id of libtorch_cpu.so in hex, "" when it has none
  std::string library;                   // path of libtorch_cpu.so
  int (*number_of_threads)() = nullptr;  // at::get_num_threads(), null when it has none
};

// The version of a loaded libtorch_cpu.so; `library` is its handle. kNotFound when neither the library nor the files beside it contain it.
Result<TorchVersion> torch_version(void* library, const std::string& path);

// "tensortap_torch_2.13_1.so"
std::string adapter_file_name(const TorchVersion& version);

// Loads the first file of that name in `folders` and fills *adapter, which stays as it is on failure. The file beside this library is for
// PyTorch's own releases alone. Errors: kNotFound with the command that builds one; kUnsupported when others than the user and root could
// have written the file (base/code_file.h); kUnsupported with the same command when the file is no adapter or was built for another
// interface or release. Never unloads an adapter that was attached.
Status load_adapter(const TorchVersion& version, const std::vector<std::string>& folders, const tensortap_torch_tracker& tracker,
                    tensortap_torch_adapter& adapter);

// Loads this very file. kUnsupported as above.
Status load_adapter_file(const TorchVersion& version, const std::string& path, const tensortap_torch_tracker& tracker,
                         tensortap_torch_adapter& adapter);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_LOADER_H_
