#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>

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

// Whether the value of the option `word` stands in the next word, and that one begins with a dash without being an option.
bool has_dashed_value(const CLI::App& app, const std::string& word, const std::string& next) {
  const CLI::Option* option = option_of(app, word);
  if (option == nullptr || option->get_items_expected_min() == 0 || word.find('=') != std::string::npos) return false;
  return next.size() > 1 && next.starts_with("-") && option_of(app, next) == nullptr;
}

}  // namespace

std::vector<std::string> command_line_words(int argc, char** argv, const std::vector<DeclaredCommand>& declared) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  const auto command =
      std::ranges::find_if(declared, [&](const DeclaredCommand& one) { return !given.empty() && given.front() == one.command->name; });
  std::vector<std::string> words;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == "--") {
      words.insert(words.end(), given.begin() + static_cast<std::ptrdiff_t>(i), given.end());
      break;
    }
    if (command != declared.end() && i + 1 < given.size() && has_dashed_value(*command->app, given[i], given[i + 1])) {
      words.push_back(given[i] + "=" + given[i + 1]);
      ++i;
    } else {
      words.push_back(given[i]);
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

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                          const std::string& description) {
  return app.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

bool split_pair(std::string_view text, std::string& name, std::string& value) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

}  // namespace tensortap::cli
