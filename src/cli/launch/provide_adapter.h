// The adapter of the torch that a program would use, before the program starts.

#ifndef TENSORTAP_CLI_LAUNCH_PROVIDE_ADAPTER_H_
#define TENSORTAP_CLI_LAUNCH_PROVIDE_ADAPTER_H_

#include <string>

#include "base/status.h"
#include "cli/launch/installed_files.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// What to do about a torch without an adapter.
enum class AdapterPolicy {
  kBuild,   // compile one
  kRefuse,  // report how to compile one
  kNone,    // the program does not use torch: do not look
};

// Finds or compiles the adapter for the torch that `interpreter` would import; nothing for programs that are no Python and for a Python
// without torch. A torch that no adapter can be made for is warned of. Errors: kInvalidArgument with what the user can do, when one could
// be provided and was not.
Status provide_adapter(AdapterPolicy policy, const InstalledFiles& installed, const std::string& interpreter, Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_PROVIDE_ADAPTER_H_
