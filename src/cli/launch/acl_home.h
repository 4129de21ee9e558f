// The folder that build files of AscendCL programs expect: headers and libraries under the names and in the places that CANN has them.

#ifndef TENSORTAP_CLI_LAUNCH_ACL_HOME_H_
#define TENSORTAP_CLI_LAUNCH_ACL_HOME_H_

#include <string>

#include "base/status.h"
#include "cli/launch/installed_files.h"

namespace tensortap::cli {

// Makes or completes the folder, and returns its path. It lies below XDG_CACHE_HOME (~/.cache) and holds links to the installed files.
// Every installation of tensortap has a separate folder, which stays right when the package is updated. Several processes may do this at
// the same time. Errors: kNotFound when the AscendCL files are not installed or no home is known; kInvalidArgument for a folder that others
// may write; kIo.
Result<std::string> make_acl_home(const AclFiles& installed);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_ACL_HOME_H_
