// `tensortap replay` of a dump of PyTorch: the package's own program, in a Python that has torch.

#ifndef TENSORTAP_CLI_LAUNCH_REPLAY_TORCH_H_
#define TENSORTAP_CLI_LAUNCH_REPLAY_TORCH_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/text/exit_code.h"

namespace tensortap::cli {

// Runs it with these arguments, the dump first, and returns its exit code. `python` is the interpreter; "" = python3 on PATH. It never
// starts an interpreter that a dump names, since a dump is a file like any other. Errors: kNotFound when the interpreter does not exist, or
// the package is not installed.
Result<ExitCode> replay_torch(const std::vector<std::string>& arguments, const std::string& python);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_REPLAY_TORCH_H_
