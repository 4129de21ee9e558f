// Compiling the adapter of one torch release from the headers inside of its package.

#ifndef TENSORTAP_CLI_LAUNCH_ADAPTER_BUILD_H_
#define TENSORTAP_CLI_LAUNCH_ADAPTER_BUILD_H_

#include <string>

#include "base/status.h"
#include "cli/launch/installed_files.h"
#include "cli/launch/torch_installation.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

struct BuiltAdapter {
  std::string path;
  double seconds = 0;
  std::string problem;  // of the self-test, "" = passed
  std::string untried;  // why the self-test could not run here, "" = it ran
};

// Compiles the adapter into `folder`, which is made, or "" = the cache; first warns that it will take a while. The file appears whole or
// not at all, whatever happens and however many processes build at once. The self-test runs in a separate process. An adapter that fails it
// is removed; one for a torch that cannot be loaded on this machine is kept untried. Errors: kNotFound without compiler, sources or
// headers; kInvalidArgument for a folder where an adapter would be refused (base/code_file.h); kUnsupported when it does not compile, with
// the compiler's first errors.
// For headers alone the adapter is bound to libraries of the usual names, and kept untried.
Result<BuiltAdapter> build_adapter(const InstalledFiles& installed, const TorchInstallation& torch, const std::string& folder,
                                   const Terminal& terminal);

// For a torch that is not an official release: tries the adapter that came with the package for this minor release, if one exists, in a
// separate process. Keeps one that works in the cache, like a compiled one. Whether there is one now.
bool adopt_prebuilt_adapter(const InstalledFiles& installed, const TorchInstallation& torch);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_ADAPTER_BUILD_H_
