#include "compare/tolerance_rules.h"

#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

// The last word of `text`, which loses it; "" when there is none.
std::string_view take_last_word(std::string_view& text) {
  text = trim(text);
  const size_t at = text.find_last_of(" \t");
  const std::string_view word = at == std::string_view::npos ? text : text.substr(at + 1);
  text = at == std::string_view::npos ? std::string_view() : trim(text.substr(0, at));
  return word;
}

}  // namespace

Result<ToleranceRules> ToleranceRules::parse(std::string_view text, std::string_view name) {
  ToleranceRules rules;
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  size_t number = 0;
  bool for_all = false;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    std::string_view rest = trim(raw);
    if (rest.empty() || rest.front() == '#') continue;
    const std::string where = concat(name, ":", number, ": ");
    ToleranceRule rule;
    const std::string_view relative = take_last_word(rest);
    const std::string_view absolute = take_last_word(rest);
    if (rest.empty() || !parse_number(relative, rule.relative) || !parse_number(absolute, rule.absolute) || !(rule.relative >= 0) ||
        !(rule.absolute >= 0)) {
      return invalid_argument(concat(where, "write a regular expression, an absolute and a relative tolerance, such as \".* 1e-5 1e-3\""));
    }
    auto pattern = std::make_unique<re2::RE2>(rest, quiet);
    if (!pattern->ok()) return invalid_argument(concat(where, quote(rest), " is not a regular expression: ", pattern->error()));
    for_all = rest == ".*";
    rules.lines_.push_back({std::move(pattern), rule});
  }
  if (!for_all) return invalid_argument(concat(name, ": the last line has to be for everything, such as \".* 1e-5 1e-3\""));
  return rules;
}

const ToleranceRule& ToleranceRules::of(std::string_view value) const {
  for (const Line& line : lines_) {
    if (re2::RE2::PartialMatch(value, *line.pattern)) return line.rule;
  }
  return lines_.back().rule;
}

}  // namespace tensortap
