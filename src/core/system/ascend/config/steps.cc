#include "system/ascend/config/steps.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap::ascend {
namespace {

constexpr size_t kMostParts = 100;
constexpr size_t kShownPart = 80;

}  // namespace

Steps parse_steps(std::string_view text) {
  if (text.empty()) return {};
  const auto parts = static_cast<size_t>(std::ranges::count(text, '|')) + 1;
  if (parts > kMostParts) return {{}, concat("has ", parts, " parts; the most are ", kMostParts, "; join neighbours such as 3|4|5 to 3-5")};
  Steps read{StepSet(), ""};
  for (const std::string_view part : split(text, '|')) {
    const size_t dash = std::min(part.find('-'), part.size());
    int64_t first = 0;
    int64_t last = 0;
    const bool known =
        parse_step(part.substr(0, dash), first) && (dash == part.size() ? (last = first, true) : parse_step(part.substr(dash + 1), last));
    if (!known) {
      read.problem =
          concat(quote(part.substr(0, kShownPart)), " is no step; write numbers and ranges without blanks, such as \"0|3-5|10\"");
      return read;
    }
    if (last < first) {
      read.problem = concat(quote(part.substr(0, kShownPart)), " is the wrong way round; swap the two");
      return read;
    }
    read.steps.add(first, last);
  }
  return read;
}

}  // namespace tensortap::ascend
