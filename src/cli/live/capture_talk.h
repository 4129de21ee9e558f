// Telling running sessions something, and waiting for their answers.

#ifndef TENSORTAP_CLI_LIVE_CAPTURE_TALK_H_
#define TENSORTAP_CLI_LIVE_CAPTURE_TALK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/live/running_sessions.h"

namespace tensortap::cli {

// The sessions that a user means by the number of a process (the program's, or that of a process that started it, such as `tensortap
// exec`), or by the folder of a dump or of a job with several. Waits up to a moment on the monotonic clock for the first operator of a
// program under `exec`; if it does not come, returns none, and `pending` names the program.
// Errors: kNotFound for sessions that ended or were never ours, with the way to start one; kInvalidArgument for those of another user.
Result<std::vector<RunningSession>> find_sessions(const std::string& target, int64_t until_ns, std::string& pending);

// How one session answered.
struct ControlAnswer {
  enum class Kind : uint8_t { kAccepted, kRefused, kNone, kEnded };
  Kind kind = Kind::kNone;
  std::string reason;                // of kRefused
  std::optional<int64_t> from_step;  // of kAccepted, where a step applied it
  Json reply;                        // null where there is none
};

// Asks each of the sessions (members of control.json but "seq"), then waits until that moment for their answers, in the same order. Errors:
// kIo when a control file cannot be written; kInvalidArgument where kMostBefore others wait for a step.
Result<std::vector<ControlAnswer>> ask_sessions(const std::vector<RunningSession>& sessions, const Json& request, int64_t until_ns);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LIVE_CAPTURE_TALK_H_
