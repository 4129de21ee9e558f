#include "cli/command/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/text/arguments.h"
#include "cli/text/help_text.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {
namespace {

constexpr const char* kDescription = "tensortap: what every operator of a running neural network read and wrote.";
constexpr const char* kFooter =
    "Exit codes: 0 fine; 1 the check found something; 2 wrong usage or configuration; 3 the run or the dump failed.\n"
    "`tensortap COMMAND --help` has the options and examples of a command.";

const DeclaredCommand* chosen_command(const CLI::App& program, const std::vector<DeclaredCommand>& declared) {
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) return nullptr;
  const auto row = std::ranges::find(declared, chosen.front(), &DeclaredCommand::app);
  return row == declared.end() ? nullptr : &*row;
}

// What was not understood, with the nearest words that would have been.
std::string unknown_word(const CLI::App& program, const DeclaredCommand* chosen, const std::string& word) {
  std::vector<std::string> candidates;
  if (chosen == nullptr) {
    for (const Command& command : commands()) candidates.emplace_back(command.name);
    return fmt::format("{} is not a command.{}", quote(word), did_you_mean(word, candidates));
  }
  if (!word.starts_with("-")) return fmt::format("one argument too many: {}", quote(word));
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::Option* option : chosen->app->get_options()) candidates.push_back(option->get_name());
  return fmt::format("{} {} has no option {}.{}", program.get_name(), chosen->command->name, name, did_you_mean(name, candidates));
}

std::string usage_message(const CLI::App& program, const DeclaredCommand* chosen, const CLI::ParseError& error) {
  const auto rest = program.remaining(true);
  const bool extra = chosen == nullptr || error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  // CLI11 would report the value of an unknown option as an extra argument; report the option instead.
  const auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-") && word != "--"; });
  if (extra && !rest.empty()) return unknown_word(program, chosen, option == rest.end() ? rest.front() : *option);
  if (chosen == nullptr) return "a command is required";
  // An argument, which the parser calls by the name of a variable.
  const bool lacks_argument =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && !std::string_view(error.what()).starts_with("-");
  if (lacks_argument) return fmt::format("{} {} needs {}", program.get_name(), chosen->command->name, arguments_text(*chosen->app));
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    const std::string name = std::string(error.what()).substr(0, std::string_view(error.what()).find(':'));
    const CLI::Option* lacking = chosen->app->get_option_no_throw(name);
    const bool is_repeated = lacking != nullptr && lacking->count() > static_cast<size_t>(lacking->get_items_expected_max());
    if (is_repeated) return fmt::format("{} is given {} times; give it once", name, lacking->count());
    if (lacking != nullptr) return fmt::format("{} needs a value: {} {}", name, name, lacking->get_type_name());
  }
  return error.what();
}

int usage_error(Terminal& terminal, const CLI::App& program, const DeclaredCommand* chosen, const std::string& message) {
  terminal.error(message);
  const std::string command = chosen == nullptr ? "" : fmt::format(" {}", chosen->command->name);
  terminal.note(fmt::format("Try `{}{} --help`.", program.get_name(), command));
  if (terminal.json && (chosen == nullptr || !chosen->command->json_lines)) terminal.json_line(Json{{"error", message}});
  terminal.flush();
  return static_cast<int>(ExitCode::kUsage);
}

int run_command(Terminal& terminal, const DeclaredCommand& chosen) {
  const Result<ExitCode> result = chosen.action(terminal);
  if (!result.ok()) {
    terminal.error(result.status().message());
    if (terminal.json && !chosen.command->json_lines) terminal.json_line(Json{{"error", result.status().message()}});
  }
  terminal.flush();
  return static_cast<int>(result.ok() ? *result : exit_code_of(result.status().code()));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  Terminal terminal;
  CLI::App program{kDescription, "tensortap"};
  program.formatter(make_help_formatter(terminal.width()));
  program.set_help_flag("-h,--help", "Print this help");
  program.footer(kFooter);
  program.require_subcommand(1);
  bool version = false;
  program.add_flag_callback(
      "--version",
      [&version] {
        version = true;
        throw CLI::Success();
      },
      "Print the version");
  const std::vector<DeclaredCommand> declared = declare_commands(program, terminal);
  try {
    program.parse(command_line_words(argc, argv, program));
  } catch (const CLI::CallForHelp&) {
    terminal.out(program.help());
    terminal.flush();
    return 0;
  } catch (const CLI::Success&) {
    if (version) terminal.line("tensortap " TENSORTAP_VERSION);
    terminal.flush();
    return 0;
  } catch (const CLI::ParseError& error) {
    // The parser stops before it has set the flags.
    char** const end = std::find(argv + 1, argv + argc, std::string_view("--"));
    terminal.json = std::find(argv + 1, end, std::string_view("--json")) != end;
    terminal.quiet = std::find(argv + 1, end, std::string_view("--quiet")) != end;
    const DeclaredCommand* chosen = chosen_command(program, declared);
    return usage_error(terminal, program, chosen, usage_message(program, chosen, error));
  }
  return run_command(terminal, *chosen_command(program, declared));
}

}  // namespace tensortap::cli
