#include "cli/text/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {
namespace {

constexpr size_t kDescriptionsBegin = 30;  // column
constexpr size_t kLeastWidth = 60;
constexpr size_t kMostWidth = 120;
constexpr size_t kLongestChoices = 60;  // "a|b|c"; longer ones stand with the description

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    const bool fits = lines.back().empty() || text_width(lines.back()) + 1 + text_width(word) <= width;
    if (!fits) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string fitted_line(std::string_view line, size_t width) {
  constexpr std::string_view kIndent = "      ";
  if (!line.starts_with(' ')) return concat(join(wrapped(line, width), "\n"), "\n");
  const size_t begin = line.find_first_not_of(' ');
  const size_t gap = begin == std::string_view::npos ? begin : line.find("  ", begin);
  if (text_width(line) <= width || gap == std::string_view::npos) return concat(line, "\n");
  std::string text = concat(line.substr(0, gap), "\n");
  for (const std::string& part : wrapped(trim(line.substr(gap)), width - kIndent.size())) text += concat(kIndent, part, "\n");
  return text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(size_t width) : width_(width) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    const bool has_commands = !app->get_subcommands({}).empty();
    const std::string arguments = arguments_text(*app);
    return fmt::format("\nUsage: {}{} [OPTIONS]{}{}\n", name, has_commands ? " COMMAND" : "", arguments.empty() ? "" : " ", arguments);
  }

  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override {
    std::string text = '\n' + (is_positional ? std::string("Arguments") : std::move(group)) + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
    return text;
  }

  std::string make_description(const CLI::App* app) const override {
    return concat(join(wrapped(app->get_description(), width_), "\n"), "\n");
  }

  std::string make_footer(const CLI::App* app) const override { return fitted_lines(app->get_footer(), width_); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string value = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
    if (is_positional) return help_row(value, option->get_description(), width_);
    const std::string names = option->get_name(false, true);
    if (value.size() > kLongestChoices) {
      const std::string words = fmt::format("{}", fmt::join(split(value, '|'), ", "));
      return help_row(names + " WORD", concat(option->get_description(), ": ", words), width_);
    }
    return help_row(names + (value.empty() ? "" : " ") + value, option->get_description(), width_);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return help_row(command->get_name(), command->get_description(), width_);
  }

 private:
  size_t width_;
};

}  // namespace

size_t help_width(size_t terminal_width) { return std::clamp(terminal_width == 0 ? kMostWidth : terminal_width, kLeastWidth, kMostWidth); }

std::string fitted_lines(std::string_view text, size_t width) {
  std::string fitted;
  for (const std::string_view line : split(text, '\n')) fitted += fitted_line(line, width);
  return fitted;
}

// A left side that is too long gets a separate line.
std::string help_row(const std::string& left, std::string_view description, size_t width) {
  std::string text = "  " + left;
  const std::string indent(kDescriptionsBegin, ' ');
  if (text_width(text) + 2 > kDescriptionsBegin) {
    text += '\n' + indent;
  } else {
    text.resize(kDescriptionsBegin, ' ');
  }
  return text + join(wrapped(description, width - kDescriptionsBegin), "\n" + indent) + '\n';
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter(size_t terminal_width) {
  return std::make_shared<HelpFormatter>(help_width(terminal_width));
}

std::string arguments_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    const std::string name = option->get_type_name();
    const bool may_lack = !option->get_required() && !name.starts_with("--");
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", may_lack ? "[" : "", name, may_lack ? "]" : "");
  }
  return text;
}

}  // namespace tensortap::cli
