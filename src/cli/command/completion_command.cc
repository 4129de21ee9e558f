// Completion scripts, made from the same tables that parse the command line.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/text/arguments.h"

namespace tensortap::cli {
namespace {

enum class ValueKind { kNone, kFree, kFile, kChoice };

ValueKind value_kind(const CLI::Option& option) {
  if (!option.get_positional() && option.get_items_expected_max() == 0) return ValueKind::kNone;
  const std::string type = option.get_type_name();
  if (type.find('|') != std::string::npos) return ValueKind::kChoice;
  const bool file = std::ranges::any_of(std::vector<std::string>{kFile, kDirectory, kDump, kModel, kPath, kNamedFile},
                                        [&](const std::string& one) { return type == one; });
  return file ? ValueKind::kFile : ValueKind::kFree;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> words;
  const std::string type = option.get_type_name();
  for (const std::string_view word : split(type, '|')) words.emplace_back(word);
  return words;
}

// The long options of a command as "--name", and its positional arguments.
std::vector<const CLI::Option*> long_options(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) options.push_back(option);
  }
  return options;
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) options.push_back(option);
  }
  return options;
}

std::string bash_values(const CLI::App& app) {
  std::string cases;
  for (const CLI::Option* option : long_options(app)) {
    const std::string pattern = fmt::format("    \"{} --{}\")", app.get_name(), option->get_lnames().front());
    switch (value_kind(*option)) {
      case ValueKind::kNone:
        break;
      case ValueKind::kFree:
        cases += fmt::format("{} return ;;\n", pattern);
        break;
      case ValueKind::kFile:
        cases += fmt::format("{} _tensortap_reply -f -- \"$current\"; return ;;\n", pattern);
        break;
      case ValueKind::kChoice:
        cases += fmt::format("{} _tensortap_reply -W \"{}\" -- \"$current\"; return ;;\n", pattern, fmt::join(choices_of(*option), " "));
        break;
    }
  }
  return cases;
}

std::string bash_script(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  std::string values;
  std::string options;
  std::string arguments;
  for (const CLI::App* app : apps) {
    names.push_back(app->get_name());
    values += bash_values(*app);
    std::vector<std::string> words;
    for (const CLI::Option* option : long_options(*app)) words.push_back("--" + option->get_lnames().front());
    options += fmt::format("      {}) _tensortap_reply -W \"{}\" -- \"$current\" ;;\n", app->get_name(), fmt::join(words, " "));
    const auto given = positionals(*app);
    if (given.empty()) continue;
    const bool choice = value_kind(*given.front()) == ValueKind::kChoice;
    const std::string source = choice ? fmt::format("-W \"{}\"", fmt::join(choices_of(*given.front()), " ")) : "-f";
    arguments += fmt::format("    {}) _tensortap_reply {} -- \"$current\" ;;\n", app->get_name(), source);
  }
  return fmt::format(R"(# bash completion of tensortap
_tensortap_reply() {{
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@")
}}
_tensortap() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _tensortap_reply -W "{0} --help --version" -- "$current"
    return
  fi
  # bash splits --option=value and NAME=FILE at the "=".
  if [ "$current" = "=" ]; then current=""; elif [ "$previous" = "=" ]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  case "$previous" in --*) ;; *) [ "$COMP_CWORD" -gt 3 ] && [ "${{COMP_WORDS[COMP_CWORD-3]}}" = "--input" ] && previous="--input" ;; esac
  case "$command $previous" in
{1}  esac
  if [[ "$current" == -* ]]; then
    case "$command" in
{2}    esac
    return
  fi
  case "$command" in
{3}  esac
}}
complete -o filenames -F _tensortap tensortap
)",
                     fmt::join(names, " "), values, options, arguments);
}

// A description inside a quoted zsh specification.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      result += '\\';
      result += c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string zsh_source(const CLI::Option& option) {
  const ValueKind kind = value_kind(option);
  if (kind == ValueKind::kFile) return "_files";
  if (kind == ValueKind::kChoice) return fmt::format("({})", fmt::join(choices_of(option), " "));
  return " ";
}

std::string zsh_command(const CLI::App& app) {
  std::string text = fmt::format("    {}) _arguments", app.get_name());
  for (const CLI::Option* option : long_options(app)) {
    const std::string name = option->get_lnames().front();
    const std::string description = zsh_text(option->get_description());
    if (value_kind(*option) == ValueKind::kNone) {
      text += fmt::format(" \\\n      '--{}[{}]'", name, description);
    } else {
      const bool repeated = option->get_items_expected_max() > 1;
      text += fmt::format(" \\\n      '{}--{}=[{}]:{}:{}'", repeated ? "*" : "", name, description,
                          zsh_text(value_kind(*option) == ValueKind::kChoice ? name : option->get_type_name()), zsh_source(*option));
    }
  }
  size_t position = 1;
  for (const CLI::Option* option : positionals(app)) {
    text += fmt::format(" \\\n      '{}:{}:{}'", position++, zsh_text(option->get_name(true)), zsh_source(*option));
  }
  return text + " ;;\n";
}

std::string zsh_script(const std::vector<const CLI::App*>& apps) {
  std::string names;
  std::string cases;
  for (const CLI::App* app : apps) {
    names += fmt::format("    '{}:{}'\n", app->get_name(), zsh_text(app->get_description()));
    cases += zsh_command(*app);
  }
  return fmt::format(R"(#compdef tensortap
_tensortap() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = "_tensortap" ]; then
  _tensortap "$@"
else
  compdef _tensortap tensortap
fi
)",
                     names, cases);
}

// Inside single quotes of fish.
std::string fish_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string fish_values(const CLI::Option& option) {
  switch (value_kind(option)) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kFree:
      return " -x";
    case ValueKind::kFile:
      return option.get_positional() ? " -F" : " -r -F";
    case ValueKind::kChoice:
      return fmt::format("{} -a '{}'", option.get_positional() ? "" : " -x", fmt::join(choices_of(option), " "));
  }
  return "";
}

std::string fish_script(const std::vector<const CLI::App*>& apps) {
  std::string text = R"(# fish completion of tensortap
function __tensortap_command
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end
function __tensortap_no_command
  test (count (commandline -opc)) -eq 1
end
complete -c tensortap -f
complete -c tensortap -n __tensortap_no_command -l help -d 'Print the help'
complete -c tensortap -n __tensortap_no_command -l version -d 'Print the version'
)";
  for (const CLI::App* app : apps) {
    text +=
        fmt::format("complete -c tensortap -n __tensortap_no_command -a {} -d '{}'\n", app->get_name(), fish_text(app->get_description()));
  }
  for (const CLI::App* app : apps) {
    const std::string begin = fmt::format("complete -c tensortap -n '__tensortap_command {}'", app->get_name());
    for (const CLI::Option* option : long_options(*app)) {
      text += fmt::format("{} -l {}{} -d '{}'\n", begin, option->get_lnames().front(), fish_values(*option),
                          fish_text(option->get_description()));
    }
    const auto given = positionals(*app);
    if (!given.empty() && value_kind(*given.front()) != ValueKind::kFree) text += begin + fish_values(*given.front()) + '\n';
  }
  return text;
}

}  // namespace

Action declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  add_choice(app, "shell", *shell, {"bash", "zsh", "fish"}, "For which shell")->required();
  return [shell, &app](Terminal& terminal) -> Result<ExitCode> {
    std::vector<const CLI::App*> apps;
    for (const Command& command : commands()) apps.push_back(app.get_parent()->get_subcommand(std::string(command.name)));
    const std::string script = *shell == "bash" ? bash_script(apps) : *shell == "zsh" ? zsh_script(apps) : fish_script(apps);
    if (terminal.json) {
      terminal.json_line(Json{{"shell", *shell}, {"script", script}});
    } else {
      terminal.out(script);
    }
    return ExitCode::kFine;
  };
}

}  // namespace tensortap::cli
