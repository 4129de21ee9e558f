// The installation of ATB, the Ascend transformer library, whose programs `llm dump` captures.

#ifndef TENSORTAP_CLI_LAUNCH_ATB_HOME_H_
#define TENSORTAP_CLI_LAUNCH_ATB_HOME_H_

#include <string>

#include "base/status.h"
#include "cli/launch/installed_files.h"

namespace tensortap::cli {

// What to preload: the library of `installed` that has the string ABI of ATB_HOME_PATH's lib/libatb.so. "" where ATB_HOME_PATH is not set
// or has no such file, which `warning` says then. Errors: kInvalidArgument for a file that is no library, kNotFound when ours is missing.
Result<std::string> atb_preload(const AtbFiles& installed, std::string& warning);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_ATB_HOME_H_
