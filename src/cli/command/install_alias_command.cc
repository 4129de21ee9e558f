// `tensortap install-alias`: a shell function under another tool's name, for the user to put where shells read it.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/command/command.h"
#include "cli/text/arguments.h"

namespace tensortap::cli {
namespace {

// Everything but the dump stays the real one's.
constexpr const char* kMsit = R"(msit() {
  case "$1 $2" in
    "llm dump" | "llm dd") tensortap "$@" ;;
    *) command msit "$@" ;;
  esac
}
)";

}  // namespace

Action declare_install_alias(CLI::App& app) {
  const auto tool = std::make_shared<std::string>();
  add_choice(app, "tool", *tool, {"msit"}, "Whose name")->required();
  return [tool](Terminal& terminal) -> Result<ExitCode> {
    if (terminal.json) {
      terminal.json_line(Json{{"tool", *tool}, {"script", kMsit}});
    } else {
      terminal.out(kMsit);
    }
    return ExitCode::kFine;
  };
}

}  // namespace tensortap::cli
