// The exit codes of every command.

#ifndef TENSORTAP_CLI_TEXT_EXIT_CODE_H_
#define TENSORTAP_CLI_TEXT_EXIT_CODE_H_

#include "base/status.h"

namespace tensortap::cli {

// What the program ends with; the same for every command.
enum class ExitCode {
  kFine = 0,
  kFound = 1,   // the check found something
  kUsage = 2,   // wrong usage or wrong config
  kFailed = 3,  // the run or the dump failed
};

ExitCode exit_code_of(StatusCode code);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_EXIT_CODE_H_
