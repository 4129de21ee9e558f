#include "plan/name_pattern.h"

#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

Status wrong_expression(const std::string& text, const re2::RE2& expression) {
  const std::string& part = expression.error_arg();
  const size_t found = part.empty() ? std::string::npos : text.find(part);
  const std::string place = found == std::string::npos ? "" : concat(" at column ", found + 1);
  return invalid_argument(concat("wrong", place, ": ", expression.error(), " (RE2 syntax)"));
}

}  // namespace

Result<NamePattern> NamePattern::compile(const std::string& text) {
  NamePattern pattern;
  if (text.find("(?=") != std::string::npos || text.find("(?!") != std::string::npos) {
    Result<LookaheadPattern> ahead = LookaheadPattern::compile(text);
    if (!ahead.ok()) return invalid_argument(concat("wrong at ", ahead.status().message()));
    pattern.ahead_ = *std::move(ahead);
    return pattern;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  pattern.expression_ = std::make_unique<re2::RE2>(text, options);
  if (!pattern.expression_->ok()) return wrong_expression(text, *pattern.expression_);
  return pattern;
}

bool NamePattern::is_in(const std::string& name) const {
  return ahead_.has_value() ? ahead_->is_in(name) : re2::RE2::PartialMatch(name, *expression_);
}

bool NamePattern::matches(const std::string& name) const {
  return ahead_.has_value() ? ahead_->matches(name) : re2::RE2::FullMatch(name, *expression_);
}

std::string literal_pattern(std::string_view name) {
  constexpr std::string_view kWithMeaning = ".+*?()[]{}|$";
  constexpr std::string_view kNotWritten = "^\\\" ";
  std::string pattern;
  for (const char letter : name) {
    if (kNotWritten.find(letter) != std::string_view::npos) {
      pattern += '.';
    } else if (kWithMeaning.find(letter) != std::string_view::npos) {
      pattern += concat("[", std::string(1, letter), "]");
    } else {
      pattern += letter;
    }
  }
  return pattern;
}

std::string module_pattern(std::string_view globs) {
  std::string pattern;
  for (const std::string_view glob : split(globs, ',')) {
    if (!pattern.empty()) pattern += '|';
    for (const char c : trim(glob)) pattern += c == '*' ? ".*" : c == '?' ? "." : re2::RE2::QuoteMeta(std::string_view(&c, 1));
  }
  return concat("(?s:(?:[^./]+\\.)?(?:", pattern, ")(?:[./].*)?)");
}

}  // namespace tensortap
