#include "cli/text/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace tensortap::cli {
namespace {

const CLI::Option* option_of(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--")) return nullptr;
  const std::string name = word.substr(2, word.find('=') - 2);
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_lname(name)) return option;
  }
  return nullptr;
}

// `--op` where the command has `--ops` alone, and the other way round: people need not know which.
std::string known_number(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--") || option_of(app, word) != nullptr) return word;
  const size_t end = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, end);
  static constexpr std::array<std::string_view, 5> kNames = {"--op", "--type", "--module", "--step", "--slot"};
  for (const std::string_view one : kNames) {
    const std::string several = concat(one, "s");
    if (name != one && name != several) continue;
    const std::string other = name == one ? several : std::string(one);
    if (option_of(app, other) != nullptr) return other + word.substr(end);
  }
  return word;
}

// Whether `word` is an option whose value is the next word.
bool takes_next(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = option_of(app, word);
  return option != nullptr && option->get_items_expected_min() != 0 && word.find('=') == std::string::npos;
}

// A value that begins with a dash without being an option.
bool is_dashed_value(const CLI::App& app, const std::string& word) {
  return word.size() > 1 && word.starts_with("-") && option_of(app, word) == nullptr;
}

bool takes_words(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(),
                             [](const CLI::Option* option) { return option->get_positional() && option->get_allow_extra_args(); });
}

// CLI11 would make two words of "[1,2]". No word of a command line ends in this character, so that it can be taken away again.
constexpr char kEndOfWord = '\0';

bool would_be_split(const std::string& word) { return word.starts_with("[") && word.ends_with("]"); }

std::string without_end(std::string word) {
  if (word.ends_with(kEndOfWord)) word.pop_back();
  return word;
}

// The command that the first word names; null for none.
const CLI::App* command_of(const CLI::App& program, const std::vector<std::string>& given) {
  if (given.empty()) return nullptr;
  for (const CLI::App* app : program.get_subcommands(nullptr)) {
    if (app->get_name() == given.front()) return app;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> command_line_words(int argc, char** argv, const CLI::App& program) {
  std::vector<std::string> given(argv + 1, argv + argc);
  const bool asks_help = !given.empty() && given.front() == "help";
  if (asks_help) given.erase(given.begin());
  const CLI::App* app = command_of(program, given);
  // The parser would answer a question about an unknown command with the help of the program.
  if (asks_help && (given.empty() || app != nullptr)) given.emplace_back("--help");
  const bool protects = app != nullptr && takes_words(*app);
  std::vector<std::string> words;
  bool options_end = false;
  for (size_t i = 0; i < given.size(); ++i) {
    options_end = options_end || given[i] == "--";
    if (!options_end && app != nullptr) given[i] = known_number(*app, given[i]);
    if (!options_end && app != nullptr && i + 1 < given.size() && takes_next(*app, given[i])) {
      if (is_dashed_value(*app, given[i + 1])) {
        words.push_back(given[i] + "=" + given[i + 1]);
      } else {
        words.insert(words.end(), {given[i], given[i + 1]});
      }
      ++i;
    } else {
      words.push_back(protects && would_be_split(given[i]) ? given[i] + kEndOfWord : given[i]);
    }
  }
  std::ranges::reverse(words);
  return words;
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value, const std::vector<std::string>& choices,
                        const std::string& description) {
  const auto check = [choices](const std::string& given) -> std::string {
    if (std::ranges::find(choices, given) != choices.end()) return {};
    return fmt::format("{} is not one of {}.{}", quote(given), join(choices, ", "), did_you_mean(given, choices));
  };
  return app.add_option(name, value, description)->type_name(join(choices, "|"))->check(CLI::Validator(check, std::string()));
}

CLI::Validator in_range(int64_t least, int64_t most) {
  const auto check = [least, most](const std::string& given) -> std::string {
    int64_t number = 0;
    // The parser's own conversion takes what is too large for the largest number.
    if (parse_integer(given, number) && number >= least && number <= most) return {};
    return fmt::format("{} is no whole number from {} to {}", quote(given), least, most);
  };
  return {check, std::string()};
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                          const std::string& description) {
  return app.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                       const std::string& description) {
  return app.add_option(name, values, description)
      ->type_name(type)
      ->transform(CLI::Validator(
          [](std::string& word) {
            word = without_end(std::move(word));
            return std::string();
          },
          std::string()));
}

bool split_pair(std::string_view text, std::string& name, std::string& value) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

}  // namespace tensortap::cli
