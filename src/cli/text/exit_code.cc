#include "cli/text/exit_code.h"

namespace tensortap::cli {

ExitCode exit_code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return ExitCode::kFine;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
      return ExitCode::kUsage;
    default:
      return ExitCode::kFailed;
  }
}

}  // namespace tensortap::cli
