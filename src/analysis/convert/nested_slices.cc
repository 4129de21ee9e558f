#include "convert/nested_slices.h"

#include <queue>

namespace tensortap {
namespace {

constexpr uint32_t kMostMoves = 16;  // of one slice: many that cut each other must not take forever

struct Candidate {
  TimeSlice slice;
  uint32_t moves = 0;
};

// The one that begins first is on top; of those that begin together the longest, which holds the others.
struct BeginsLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.slice.begin != b.slice.begin) return a.slice.begin > b.slice.begin;
    if (a.slice.end != b.slice.end) return a.slice.end < b.slice.end;
    return a.slice.item > b.slice.item;
  }
};

}  // namespace

std::vector<SliceEdge> nested_edges(std::span<const TimeSlice> slices) {
  std::priority_queue<Candidate, std::vector<Candidate>, BeginsLater> waiting;
  for (const TimeSlice& slice : slices) waiting.push({slice});
  std::vector<SliceEdge> edges;
  edges.reserve(slices.size() * 2);
  std::vector<TimeSlice> open;
  const auto close_until = [&](int64_t time) {
    for (; !open.empty() && open.back().end <= time; open.pop_back()) edges.push_back({open.back().end, open.back().item, false});
  };
  while (!waiting.empty()) {
    Candidate next = waiting.top();
    waiting.pop();
    close_until(next.slice.begin);
    if (!open.empty() && open.back().end < next.slice.end) {
      if (next.moves < kMostMoves) {
        next.slice.begin = open.back().end;
        ++next.moves;
        waiting.push(next);
        continue;
      }
      next.slice.end = open.back().end;
    }
    edges.push_back({next.slice.begin, next.slice.item, true});
    open.push_back(next.slice);
  }
  for (; !open.empty(); open.pop_back()) edges.push_back({open.back().end, open.back().item, false});
  return edges;
}

}  // namespace tensortap
