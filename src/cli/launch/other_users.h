// Processes of a captured program that run as another user than the one who started it.

#ifndef TENSORTAP_CLI_LAUNCH_OTHER_USERS_H_
#define TENSORTAP_CLI_LAUNCH_OTHER_USERS_H_

#include <string>
#include <vector>

#include "cli/launch/installed_files.h"

namespace tensortap::cli {

// Whether this process, and so a program that it starts, can become another user: root, or one with the capability for it.
bool can_become_another_user();

// Whether a descendant of this process acts as another user now.
bool starts_another_user();

// What keeps such processes from capturing into the folder `out`: one sentence each, with what to do; empty when nothing does.
// `admitted`: whether the dump is one for others to write. Looks at the modes of files only, as a user sees them who is in none of our
// groups.
std::vector<std::string> obstacles_of_other_users(const InstalledFiles& installed, const std::string& out, bool admitted);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_OTHER_USERS_H_
