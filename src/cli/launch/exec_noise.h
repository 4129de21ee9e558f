// `exec --noise N`: further runs of the program whose numbers are moved by their last bit.

#ifndef TENSORTAP_CLI_LAUNCH_EXEC_NOISE_H_
#define TENSORTAP_CLI_LAUNCH_EXEC_NOISE_H_

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/launch/captured_run.h"
#include "cli/text/exit_code.h"
#include "plan/capture_spec.h"

namespace tensortap::cli {

inline constexpr int64_t kMostNoise = 100;  // runs

// Errors: kInvalidArgument where a spec gives no dump that noise could be measured by.
Status check_noise_spec(const CaptureSpec& spec);

// After the program ran into the dump of `summary`: runs it once more as it was, and `count` times with the numbers of its modules moved,
// each into a folder of that dump that compare finds. Adds the folders to the summary as "noise". Errors: kIo where a run fails, where the
// program gives other values when it runs again as it was, so that its random numbers are not fixed, and where nothing could be moved; no
// folder of noise is left then.
Status run_program_noise(const CapturedRun& run, const FoundProgram& found, const CaptureSpec& spec, int64_t count, Json& summary,
                         const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_EXEC_NOISE_H_
