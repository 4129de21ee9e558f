#include "cli/text/exec_text.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";
constexpr std::string_view kInProgram = "_-./=:,[] ";
constexpr std::string_view kInArguments = "_-./=:,[] ;";

Status check_word(const std::string& word, std::string_view allowed) {
  const auto wrong =
      std::ranges::find_if_not(word, [&](char c) { return is_letter_or_digit(c) || allowed.find(c) != std::string_view::npos; });
  if (wrong == word.end()) return {};
  return invalid_argument(concat("The command contains invalid characters: ", quote(std::string_view(&*wrong, 1)), " in ", quote(word),
                                 "; as in msit letters, digits and ", trim(allowed), " are taken. Put the command into a script"));
}

}  // namespace

Result<std::vector<std::string>> split_exec_text(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // of a word
  char mark = 0;        // the quote that is open
  for (const char c : text) {
    if (mark == 0 && kBlanks.find(c) != std::string_view::npos) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (mark != 0 ? c == mark : c == '"' || c == '\'') {
      mark = mark == 0 ? c : '\0';
    } else {
      words.back() += c;
    }
  }
  if (mark != 0) return invalid_argument(concat("the command has a quote ", mark, " without a second one: ", quote(text)));
  for (size_t i = 0; i < words.size(); ++i) TENSORTAP_RETURN_IF_ERROR(check_word(words[i], i == 0 ? kInProgram : kInArguments));
  return words;
}

}  // namespace tensortap::cli
