#include "ranks/time_spans.h"

#include <algorithm>

namespace tensortap {

TimeSpans united(TimeSpans spans) {
  std::ranges::sort(spans, {}, &TimeSpan::begin);
  TimeSpans all;
  for (const TimeSpan& one : spans) {
    if (all.empty() || one.begin > all.back().end) {
      all.push_back(one);
    } else {
      all.back().end = std::max(all.back().end, one.end);
    }
  }
  return all;
}

TimeSpans without(std::span<const TimeSpan> spans, std::span<const TimeSpan> others) {
  TimeSpans left;
  size_t next = 0;
  for (const TimeSpan& one : spans) {
    int64_t begin = one.begin;
    while (next < others.size() && others[next].end <= begin) ++next;
    for (size_t i = next; i < others.size() && others[i].begin < one.end; ++i) {
      if (others[i].begin > begin) left.push_back({begin, others[i].begin});
      begin = std::max(begin, others[i].end);
    }
    if (begin < one.end) left.push_back({begin, one.end});
  }
  return left;
}

int64_t covered(std::span<const TimeSpan> spans, TimeSpan one) {
  int64_t sum = 0;
  auto found = std::ranges::upper_bound(spans, one.begin, {}, &TimeSpan::end);
  for (; found != spans.end() && found->begin < one.end; ++found) sum += std::min(found->end, one.end) - std::max(found->begin, one.begin);
  return sum;
}

}  // namespace tensortap
