// A regular expression over names.

#ifndef TENSORTAP_PLAN_NAME_PATTERN_H_
#define TENSORTAP_PLAN_NAME_PATTERN_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "base/status.h"
#include "pattern/lookahead_pattern.h"

namespace tensortap {

// RE2's, and where it looks ahead, which RE2 does not, ECMAScript's. Immutable, thread-safe, move-only.
class NamePattern {
 public:
  // Errors: kInvalidArgument, "wrong at column 3: why", without the expression.
  static Result<NamePattern> compile(const std::string& text);

  // Whether a part of the name matches, or the whole of it.
  [[nodiscard]] bool is_in(const std::string& name) const;
  [[nodiscard]] bool matches(const std::string& name) const;

 private:
  std::unique_ptr<re2::RE2> expression_;
  std::optional<LookaheadPattern> ahead_;  // instead of it
};

// An expression that matches this name. Characters with a meaning are in brackets, since some readers drop backslashes; '.' replaces
// characters that cannot be written that way.
std::string literal_pattern(std::string_view name);

// RE2 for the whole name of a module: one of "model.layers.*,head", or a module inside of one; "*" is any text, "?" one character. The
// class of the model in front may be left out, as in "layers.3" for "Net.layers.3".
std::string module_pattern(std::string_view globs);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_NAME_PATTERN_H_
