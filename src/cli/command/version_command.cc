#include <CLI/CLI.hpp>

#include "base/json.h"
#include "cli/command/command.h"

namespace tensortap::cli {

Action declare_version(CLI::App& /*app*/) {
  return [](Terminal& terminal) -> Result<ExitCode> {
    if (terminal.json) {
      terminal.json_line(Json{{"version", TENSORTAP_VERSION}});
    } else {
      terminal.line("tensortap " TENSORTAP_VERSION);
    }
    return ExitCode::kFine;
  };
}

}  // namespace tensortap::cli
