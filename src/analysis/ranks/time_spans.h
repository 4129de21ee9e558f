// Spans of time on one clock.

#ifndef TENSORTAP_RANKS_TIME_SPANS_H_
#define TENSORTAP_RANKS_TIME_SPANS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tensortap {

struct TimeSpan {
  int64_t begin = 0;
  int64_t end = 0;  // not before the begin
};
// Disjoint spans that rise and do not touch each other.
using TimeSpans = std::vector<TimeSpan>;

// What any of these spans covers. n log n.
TimeSpans united(TimeSpans spans);
// What the first ones cover and the second ones do not. Linear.
TimeSpans without(std::span<const TimeSpan> spans, std::span<const TimeSpan> others);
// How much of this span they cover.
int64_t covered(std::span<const TimeSpan> spans, TimeSpan one);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_TIME_SPANS_H_
