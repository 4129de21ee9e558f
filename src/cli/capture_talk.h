// Telling running sessions something, and waiting for their answers.

#ifndef TENSORTAP_CLI_CAPTURE_TALK_H_
#define TENSORTAP_CLI_CAPTURE_TALK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/running_sessions.h"

namespace tensortap::cli {

// The sessions that a user means by the number of a process (the program's, or that of a process that started it, such as `tensortap
// exec`), or by the folder of a dump or of a job with several. Waits up to a moment on the monotonic clock for the first operator of a
// program under `exec`; none, and `pending` names it, when that did not come.
// Errors: kNotFound for what is gone or never was ours, saying how to start it; kInvalidArgument for what belongs to another user.
Result<std::vector<RunningSession>> find_sessions(const std::string& target, int64_t until_ns, std::string& pending);

// What became of it in one session.
struct ControlAnswer {
  enum class Kind : uint8_t { kAccepted, kRefused, kNone, kEnded };
  Kind kind = Kind::kNone;
  std::string reason;                // of kRefused
  std::optional<int64_t> from_step;  // of kAccepted, where a step took it up
  Json reply;                        // null where there is none
};

// Asks each of the sessions (members of control.json but "seq"), then waits until that moment for their answers, in the same order. Errors:
// kIo when a control file cannot be written; kInvalidArgument where kMostBefore others wait for a step.
Result<std::vector<ControlAnswer>> ask_sessions(const std::vector<RunningSession>& sessions, const Json& request, int64_t until_ns);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_CAPTURE_TALK_H_
