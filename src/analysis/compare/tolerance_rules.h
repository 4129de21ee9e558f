// Tolerances by op, as a person writes them.

#ifndef TENSORTAP_COMPARE_TOLERANCE_RULES_H_
#define TENSORTAP_COMPARE_TOLERANCE_RULES_H_

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare/difference.h"

namespace tensortap {

// Lines "REGEX ABSOLUTE RELATIVE": the first whose expression is found in the name of a value counts. Immutable; thread-safe. Movable.
class ToleranceRules {
 public:
  // `name` is what messages call the text. Empty lines and those that begin with # say nothing. The last line has to be for everything:
  // ".*". Errors: kInvalidArgument with file and line.
  static Result<ToleranceRules> parse(std::string_view text, std::string_view name);

  // `value` is the name of the op and its slot: "conv1:out0".
  [[nodiscard]] const ToleranceRule& of(std::string_view value) const;

 private:
  ToleranceRules() = default;
  struct Line {
    std::unique_ptr<re2::RE2> pattern;
    ToleranceRule rule;
  };
  std::vector<Line> lines_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_TOLERANCE_RULES_H_
