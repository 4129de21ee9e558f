// What a capture says to one layout alone.

#ifndef TENSORTAP_LAYOUT_LAYOUT_OPTION_H_
#define TENSORTAP_LAYOUT_LAYOUT_OPTION_H_

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "plan/capture_spec.h"

namespace tensortap {

// The value of an option of the layout, `otherwise` where the spec does not say.
inline std::string layout_option(const CaptureSpec& spec, std::string_view name, std::string_view otherwise = "") {
  const auto found = spec.layout_options.find(std::string(name));
  return std::string(found == spec.layout_options.end() ? otherwise : std::string_view(found->second));
}

// Errors: kInvalidArgument with all the words, and the nearest ones, for a value that is none of them.
inline Status check_option_word(std::string_view value, std::span<const std::string_view> words) {
  if (std::ranges::find(words, value) != words.end()) return {};
  const std::vector<std::string> valid(words.begin(), words.end());
  return invalid_argument(concat(quote(value), " is not valid; valid: ", join(valid, ", "), ".", did_you_mean(value, valid)));
}

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_LAYOUT_OPTION_H_
