// A torch on this machine, looked at without importing it.

#ifndef TENSORTAP_CLI_LAUNCH_TORCH_INSTALLATION_H_
#define TENSORTAP_CLI_LAUNCH_TORCH_INSTALLATION_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/launch/installed_files.h"
#include "exec/torch_files.h"

namespace tensortap::cli {

struct TorchInstallation {
  std::string folder;    // of the wheel or the C++ distribution
  std::string library;   // libtorch_cpu.so in it, "" = headers alone
  std::string includes;  // "" when it has no headers
  std::string python;    // the interpreter that has it, "" = found by folder
  TorchRelease release;
  int string_abi = 1;
};

// In the folder of the package `torch`, of the C++ distribution, or of its libraries. Errors: kNotFound when there is no libtorch_cpu.so,
// or when its release is unknown; kUnsupported for a torch without the function that the capture enters by.
Result<TorchInstallation> torch_in(const std::string& folder);

// The headers of a release, its include folder, without the rest. Errors: kInvalidArgument when these are no headers, or `release` is no
// release with a minor number.
Result<TorchInstallation> torch_headers(const std::string& includes, const std::string& release, int string_abi);

// The torch that `python` would import; asks the interpreter without importing torch. Errors: kNotFound when it has none or when the
// interpreter does not exist.
Result<TorchInstallation> torch_of_python(const std::string& python);

// The first adapter file for it in adapter_folders(); of a torch that is no release of PyTorch's own, only what was compiled for it or
// tried with it, which is in the cache. Errors: kNotFound when there is none; kUnsupported when another user could have written it
// (base/code_file.h).
Result<std::string> adapter_for(const TorchInstallation& torch, const InstalledFiles& installed);

// A sentence, with a space before it, for a release that is older or newer than those that adapters are tested with; "" for one between
// them.
std::string release_note(const TorchRelease& release);

// "tensortap build-adapter --python PYTHON" or "--libtorch FOLDER": what to type for this torch.
std::string build_command(const TorchInstallation& torch);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_TORCH_INSTALLATION_H_
