// The folder that build files of AscendCL programs expect: headers and libraries under the names and in the places that CANN has them.

#ifndef TENSORTAP_CLI_ACL_HOME_H_
#define TENSORTAP_CLI_ACL_HOME_H_

#include <string>

#include "base/status.h"
#include "cli/installed_files.h"

namespace tensortap::cli {

// Makes the folder, or completes it, and returns its path. It lies below XDG_CACHE_HOME (~/.cache) and holds links to the installed files,
// so that every installation of tensortap has one of its own, which stays right when the package is updated. Several processes may do it at
// the same time. Errors: kNotFound when the AscendCL files are not installed or there is no home; kInvalidArgument for a folder that others
// may write; kIo.
Result<std::string> make_acl_home(const AclFiles& installed);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_ACL_HOME_H_
