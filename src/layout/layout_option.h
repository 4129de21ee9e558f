// What a capture says to one layout alone.

#ifndef TENSORTAP_LAYOUT_LAYOUT_OPTION_H_
#define TENSORTAP_LAYOUT_LAYOUT_OPTION_H_

#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap {

// The value of an option of the layout, `otherwise` where the spec does not say.
inline std::string layout_option(const CaptureSpec& spec, std::string_view name, std::string_view otherwise = "") {
  const auto found = spec.layout_options.find(std::string(name));
  return std::string(found == spec.layout_options.end() ? otherwise : std::string_view(found->second));
}

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_LAYOUT_OPTION_H_
