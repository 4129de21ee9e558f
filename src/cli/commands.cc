#include <CLI/CLI.hpp>
#include <array>

#include "cli/command.h"

namespace tensortap::cli {
namespace {

constexpr std::array kCommands = {
    Command{"completion", "Print the completion script of a shell",
            R"(  source <(tensortap completion bash)                     in ~/.bashrc
  tensortap completion zsh > ~/.zfunc/_tensortap          a folder of $fpath)",
            false, declare_completion},
    Command{"version", "Print the version",
            R"(  tensortap version
  tensortap version --json)",
            false, declare_version},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::vector<DeclaredCommand> declare_commands(CLI::App& program, Terminal& terminal) {
  std::vector<DeclaredCommand> declared;
  for (const Command& command : kCommands) {
    CLI::App* app = program.add_subcommand(std::string(command.name), std::string(command.summary));
    Action action = command.declare(*app);
    app->add_flag(
        "--json", terminal.json,
        command.json_lines ? "Answer in JSON, one object a line, on standard output" : "Answer as one JSON object on standard output");
    app->add_flag("--quiet", terminal.quiet, "No notes and no progress on standard error");
    app->footer("Examples:\n" + std::string(command.examples));
    declared.push_back({&command, app, std::move(action)});
  }
  return declared;
}

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
