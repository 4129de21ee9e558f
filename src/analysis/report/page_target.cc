#include "report/page_target.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "serve/web_request.h"

namespace tensortap {

std::string page_target(std::string_view address, const TargetParameters& parameters) {
  std::string target(address);
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    target += concat(separator, name, "=", percent_encoded(value));
    separator = '&';
  }
  return target;
}

ShownPart first_shown(std::span<const int64_t> shape) {
  std::vector<size_t> order;
  for (const bool wide : {false, true}) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if ((shape[i] > 1) == wide) order.push_back(i);
    }
  }
  std::vector<size_t> free(order.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(order.size(), 2)), order.end());
  std::ranges::sort(free);
  ShownPart part{"", "0:1", "0:1"};
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_free = std::ranges::find(free, i) != free.end();
    part.at += concat(i == 0 ? "" : ",", is_free ? ":" : "0");
  }
  if (free.size() == 2) part.rows = concat("0:", shape[free[0]]);
  if (!free.empty()) part.columns = concat("0:", shape[free.back()]);
  return part;
}

}  // namespace tensortap
