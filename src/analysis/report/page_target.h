// The requests that the page makes, as it writes them.

#ifndef TENSORTAP_REPORT_PAGE_TARGET_H_
#define TENSORTAP_REPORT_PAGE_TARGET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tensortap {

using TargetParameters = std::vector<std::pair<std::string_view, std::string>>;

// "/api/records?where=nan%20%3E%200"; skips parameters that are "".
std::string page_target(std::string_view address, const TargetParameters& parameters);

// The part of a tensor that the page shows first: the last two dimensions, preferring those with more than one element; element 0 of the
// others.
struct ShownPart {
  std::string at;    // "0,:,:"
  std::string rows;  // "0:64"
  std::string columns;
};
ShownPart first_shown(std::span<const int64_t> shape);

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_PAGE_TARGET_H_
