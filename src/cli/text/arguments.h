// Small tools for declaring options: words that the command line, the help text and the completions share.

#ifndef TENSORTAP_CLI_TEXT_ARGUMENTS_H_
#define TENSORTAP_CLI_TEXT_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace tensortap::cli {

// Names for the values of options, shown in the help text; the completions offer files for the first group.
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kDirectory = "DIR";
inline constexpr const char* kDump = "DUMP";
inline constexpr const char* kModel = "MODEL.onnx";
inline constexpr const char* kPath = "PATH";
inline constexpr const char* kNamedFile = "NAME=FILE";

// The words of the command line in the order that CLI11 needs (last first). `help COMMAND` becomes `COMMAND --help`. A value that begins
// with a dash (`--sort -absmax`) is tied to its option with "=", since CLI11 would read it as another option.
std::vector<std::string> command_line_words(int argc, char** argv, const CLI::App& program);

// "a|b|c": one of these words; completed and checked, with the nearest on error.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value, const std::vector<std::string>& choices,
                        const std::string& description);

// A whole number within these bounds.
CLI::Validator in_range(int64_t least, int64_t most);
inline constexpr int64_t kMostListed = int64_t{1} << 40;

// A repeatable option that takes one value each time.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                          const std::string& description);

// A positional argument that takes every word, as command_line_words() gave it.
CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                       const std::string& description);

// Splits "NAME=VALUE" at the first "="; false when either side is empty.
bool split_pair(std::string_view text, std::string& name, std::string& value);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_ARGUMENTS_H_
