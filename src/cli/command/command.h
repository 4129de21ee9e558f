// A subcommand of `tensortap`: one file each, one row each in commands.cc.

#ifndef TENSORTAP_CLI_COMMAND_COMMAND_H_
#define TENSORTAP_CLI_COMMAND_COMMAND_H_

#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "cli/text/exit_code.h"
#include "cli/text/terminal.h"

namespace CLI {
class App;
}

namespace tensortap::cli {

// Does the work of one command, once its options are parsed. A failed Status is printed by main().
using Action = std::function<Result<ExitCode>(Terminal& terminal)>;

struct Command {
  std::string_view group;  // its heading in the help
  std::string_view name;
  std::string_view summary;   // one line of the list of commands
  std::string_view examples;  // shown below the options
  bool json_lines;            // --json prints one object a line, so that a failure prints none
  // Adds the options of the command to `app` and returns the action that runs it. The action owns the variables for the options.
  Action (*declare)(CLI::App& app);
};

// In the order of the help text. Constant data.
std::span<const Command> commands();

// The program with all its commands and options, as main() parses it: the completions are also made from it.
struct DeclaredCommand {
  const Command* command;
  CLI::App* app;
  Action action;
};
std::vector<DeclaredCommand> declare_commands(CLI::App& program, Terminal& terminal);

// One per command, in <name>_command.cc.
Action declare_run(CLI::App& app);
Action declare_replay(CLI::App& app);
Action declare_exec(CLI::App& app);
Action declare_llm(CLI::App& app);
Action declare_build_adapter(CLI::App& app);
Action declare_ps(CLI::App& app);
Action declare_set(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_ls(CLI::App& app);
Action declare_show(CLI::App& app);
Action declare_find(CLI::App& app);
Action declare_compare(CLI::App& app);
Action declare_serve(CLI::App& app);
Action declare_report(CLI::App& app);
Action declare_convert(CLI::App& app);
Action declare_export(CLI::App& app);
Action declare_ranks(CLI::App& app);
Action declare_watch_diff(CLI::App& app);
Action declare_repair(CLI::App& app);
Action declare_doctor(CLI::App& app);
Action declare_completion(CLI::App& app);
Action declare_install_alias(CLI::App& app);
Action declare_version(CLI::App& app);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_COMMAND_COMMAND_H_
