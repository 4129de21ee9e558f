// Where a running capture can be found and told something: the files that it leaves while it runs, and the folder of the user that has
// links to them. Used by the session that makes them and by the commands that look.

#ifndef TENSORTAP_BASE_RUNNING_CAPTURES_H_
#define TENSORTAP_BASE_RUNNING_CAPTURES_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace tensortap {

// In a folder for each session: that of its dump, or, where several share one, a folder kSessionFolder... in kSharedFolder of it.
inline constexpr std::string_view kSessionFile = "session.json";      // what it is; from the session
inline constexpr size_t kMostBefore = 100;                            // requests without an answer that a control file holds beside its own
inline constexpr std::string_view kControlFile = "control.json";      // what is asked of it; from `tensortap set`
inline constexpr std::string_view kReplyFile = "control_reply.json";  // the answer to that; from the session
inline constexpr std::string_view kSharedFolder = ".tensortap";       //
inline constexpr std::string_view kSessionFolder = "session_";        // and the process, and a number
inline constexpr uint64_t kMostControlBytes = uint64_t{1} << 20;

// In the user's folder: links to kSessionFile, and files of `tensortap exec`.
inline constexpr std::string_view kSessionLink = "session-";  // and the process, its start, and a number
inline constexpr std::string_view kExecFile = "exec-";        // and the process

// The user's folder, made where it is missing: tensortap in XDG_RUNTIME_DIR, or where that is no folder, tensortap-UID in TMPDIR or /tmp.
// Errors: kIo when it cannot be made; kInvalidArgument when the path is no folder, belongs to another user, or is open to others.
Result<std::string> make_running_folder();
// The existing ones that are the user's alone: a capture may have been started with other variables.
std::vector<std::string> running_folders();

// Reads a file that a stranger may have made: a whole file of at most kMostControlBytes, no link, of `owner`. `seen`, not null, gets the
// file's facts. Errors: kNotFound; kInvalidArgument saying what is wrong with it; kIo.
Result<std::string> read_owned_file(const std::string& path, uid_t owner, struct stat* seen = nullptr);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_RUNNING_CAPTURES_H_
