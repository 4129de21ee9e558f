#include <algorithm>

#include "base/text.h"
#include "plan/capture_spec.h"

namespace tensortap {
namespace {

constexpr int64_t kLastStep = std::numeric_limits<int64_t>::max();
constexpr std::string_view kHowTo = "; write numbers and ranges such as \"0,3-5,10-\", or \"all\"";

Status wrong_part(std::string_view part, std::string_view why) {
  return invalid_argument(concat("the steps ", quote(part), " are ", why, kHowTo));
}

// "3", "3-5" or "3-".
Status parse_range(std::string_view part, int64_t& first, int64_t& last) {
  const size_t dash = part.find('-');
  const std::string_view begin = trim(part.substr(0, dash));
  if (begin.empty()) return wrong_part(part, "not a number or a range");
  if (!parse_integer(begin, first) || first < 0) return wrong_part(part, "not a number from 0 on");
  if (dash == std::string_view::npos) {
    last = first;
    return {};
  }
  const std::string_view end = trim(part.substr(dash + 1));
  last = kLastStep;
  if (!end.empty() && (!parse_integer(end, last) || last < 0)) return wrong_part(part, "not a number or a range");
  if (last < first) return wrong_part(part, concat("the wrong way round (", first, " comes after ", last, ")"));
  return {};
}

}  // namespace

bool parse_step(std::string_view text, int64_t& step) {
  if (!is_digits(text)) return false;
  if (!parse_integer(text, step)) step = kLastStep - 1;
  return true;
}

Result<StepSet> StepSet::parse(std::string_view text, char separator) {
  if (separator == 0) separator = text.find('|') != std::string_view::npos ? '|' : ',';
  if (trim(text) == "all") return all();
  StepSet steps;
  for (const std::string_view part : split(text, separator)) {
    int64_t first = 0;
    int64_t last = 0;
    TENSORTAP_RETURN_IF_ERROR(parse_range(trim(part), first, last));
    steps.add(first, last);
  }
  return steps;
}

StepSet StepSet::all() {
  StepSet steps;
  steps.add(0, kLastStep);
  return steps;
}

StepSet StepSet::never() {
  StepSet steps;
  steps.add(kLastStep, kLastStep);
  return steps;
}

void StepSet::add(int64_t first, int64_t last) {
  first = std::max<int64_t>(first, 0);
  if (last < first) return;
  // In ascending order, as most are added, without a look at those before.
  if (ranges_.empty() || (ranges_.back().last != kLastStep && ranges_.back().last + 1 < first)) {
    ranges_.push_back({first, last});
    return;
  }
  const auto touches_from =
      std::ranges::find_if(ranges_, [&](const Range& range) { return range.last == kLastStep || range.last + 1 >= first; });
  auto touches_to = touches_from;
  for (; touches_to != ranges_.end() && (last == kLastStep || touches_to->first <= last + 1); ++touches_to) {
    first = std::min(first, touches_to->first);
    last = std::max(last, touches_to->last);
  }
  const auto at = ranges_.erase(touches_from, touches_to);
  ranges_.insert(at, Range{first, last});
}

bool StepSet::contains(int64_t step) const {
  const auto range = std::ranges::lower_bound(ranges_, step, {}, &Range::last);
  return range != ranges_.end() && range->first <= step;
}

bool StepSet::is_all() const { return ranges_.size() == 1 && ranges_[0].first == 0 && ranges_[0].last == kLastStep; }

bool StepSet::is_never() const { return ranges_.size() == 1 && ranges_[0].first == kLastStep; }

int64_t StepSet::first() const { return ranges_.empty() ? -1 : ranges_.front().first; }
int64_t StepSet::last() const { return ranges_.empty() ? -1 : ranges_.back().last; }

std::string StepSet::to_text() const {
  if (is_all()) return "all";
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += concat(range.first);
    if (range.last == kLastStep) {
      text += '-';
    } else if (range.last != range.first) {
      text += concat("-", range.last);
    }
  }
  return text;
}

}  // namespace tensortap
