#include "system/mindspore/config/iteration.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap::mindspore {
namespace {

constexpr uint64_t kMostStep = std::numeric_limits<int64_t>::max();

using StepRange = std::pair<int64_t, int64_t>;

// False when the part matches no step at all.
bool add_part(std::string_view part, std::vector<StepRange>& ranges) {
  const size_t dash = part.find('-');
  uint64_t first = 0;
  uint64_t last = 0;
  if (!parse_unsigned(part.substr(0, dash), first)) return false;
  last = first;
  if (dash != std::string_view::npos && !parse_unsigned(part.substr(dash + 1), last)) return false;
  if (first > last || first >= kMostStep) return false;
  ranges.emplace_back(static_cast<int64_t>(first), static_cast<int64_t>(std::min(last, kMostStep)));
  return true;
}

}  // namespace

bool is_iteration(std::string_view text) {
  return text == "all" || (!text.empty() && text.find_first_not_of("0123456789-|") == std::string_view::npos);
}

Iterations parse_iteration(std::string_view text) {
  Iterations iterations;
  if (text == "all") {
    iterations.steps = StepSet::all();
    return iterations;
  }
  std::vector<StepRange> ranges;
  for (const std::string_view part : split(text, '|')) {
    if (add_part(part, ranges)) continue;
    if (iterations.malformed++ == 0) iterations.first_malformed = part;
  }
  // Sorted, so that a text of a million parts is no work.
  std::ranges::sort(ranges);
  for (const auto& [first, last] : ranges) iterations.steps.add(first, last);
  if (iterations.steps.empty()) iterations.steps = StepSet::never();
  return iterations;
}

}  // namespace tensortap::mindspore
