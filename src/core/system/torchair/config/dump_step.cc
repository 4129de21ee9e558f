#include "system/torchair/config/dump_step.h"

#include <vector>

#include "base/text.h"

namespace tensortap::torchair {
namespace {

bool add_part(std::string_view part, Steps& read) {
  const std::vector<std::string_view> numbers = split(part, '-');
  std::vector<int64_t> steps(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool inner = i > 0 && i + 1 < numbers.size();
    if (!parse_step(numbers[i], steps[i]) || (inner && numbers[i].size() < 2)) return false;
  }
  for (size_t i = 0; i < steps.size(); i += 2) {
    const int64_t last = i + 1 < steps.size() ? steps[i + 1] : steps[i];
    if (last < steps[i] && read.note.empty()) read.note = concat(quote(part.substr(0, 80)), " is the wrong way round and selects no step");
    read.steps.add(steps[i], last);
  }
  return true;
}

}  // namespace

Steps parse_steps(std::string_view text) {
  if (text.empty()) return {};
  Steps read{StepSet(), true, ""};
  if (text.ends_with('|')) text.remove_suffix(1);
  for (const std::string_view part : split(text, '|')) {
    if (!add_part(part, read)) return {StepSet(), false, ""};
  }
  if (read.steps.empty()) read.steps = StepSet::never();
  return read;
}

}  // namespace tensortap::torchair
