// Starting other programs: one that takes our place at the terminal, and small ones that are asked something.

#ifndef TENSORTAP_CLI_LAUNCH_CHILD_PROCESS_H_
#define TENSORTAP_CLI_LAUNCH_CHILD_PROCESS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

// To be called first in main(). Ignores SIGPIPE, makes ended children wait for us though the caller ignores SIGCHLD, and puts /dev/null
// where a standard descriptor is closed, so that no file of ours gets its number. Programs that we start get back what the caller gave.
void prepare_process();

// How a program ended, as a shell says it.
struct ProgramEnd {
  int exit_code = 0;  // its own, or 128 + the signal that killed it
  int signal = 0;     // 0 = it ended by itself
};

// Variables of the environment to set for a program; one without a value is removed.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

// Runs a program with our stdin, stdout, stderr and working folder until it ends. Forwards signals that other processes send to us. Signals
// from the terminal (Ctrl-C) reach it directly and do not end us. `environment` is set on top of ours, in its order. Errors: kNotFound,
// kInvalidArgument when it cannot be started; kIo. Once at a time, no other thread may run.
// While it runs, calls `look` from time to time, ever more rarely, until `look` returns true; never where the system cannot do both.
Result<ProgramEnd> run_program(const std::string& path, const std::vector<std::string>& words, const Variables& environment,
                               const std::function<bool()>& look = nullptr);

// Forks and continues in the child, which keeps the terminal. Returns nothing in the child. In the parent, waits for the child, passes
// signals on as run_program() does, and returns how it ended. For work that may crash. Errors: kIo. No other thread may run.
Result<std::optional<ProgramEnd>> continue_in_child();

// The answer of a program.
struct ProgramAnswer {
  int exit_code = 0;
  std::string out;  // the first MiB of each
  std::string errors;
};

// Runs a program to its end with an empty stdin. Looks for words[0] on PATH. Errors: kNotFound when it cannot be started; kIo.
Result<ProgramAnswer> ask_program(const std::vector<std::string>& words);

// Does `work` in a separate process and returns its result, so that a crash in there is an answer as well. Errors: kInternal with the
// signal.
Result<std::string> in_own_process(const std::function<std::string()>& work);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_CHILD_PROCESS_H_
