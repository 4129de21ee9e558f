// What `--help` prints: one line of usage as a person would type it, and descriptions that keep to the width of the terminal.

#ifndef TENSORTAP_CLI_TEXT_HELP_TEXT_H_
#define TENSORTAP_CLI_TEXT_HELP_TEXT_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tensortap::cli {

// `terminal_width`: columns; 0 = a pipe or a file, for which lines are as long as in a wide terminal. Subcommands take the formatter of
// their parent, so that it has to be set before they are added.
std::shared_ptr<CLI::FormatterBase> make_help_formatter(size_t terminal_width);

// The columns that the lines of a help text take.
size_t help_width(size_t terminal_width);
// A row of a help text: names on the left, what they mean on the right.
std::string help_row(const std::string& names, std::string_view meaning, size_t width);

// Lines of examples: a command, and behind two blanks or more what it does; what does not fit beside it stands below it. Other lines are
// wrapped.
std::string fitted_lines(std::string_view text, size_t width);

// "MODEL.onnx", "SOURCE... TARGET": the arguments of a command, in their order.
std::string arguments_text(const CLI::App& app);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_HELP_TEXT_H_
