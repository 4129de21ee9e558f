#include "compare/common_sequence.h"

#include <algorithm>

namespace tensortap {
namespace {

// Myers' greedy search: for each number of edits the furthest place in a on each diagonal, which is the place in a less that in b.
class GreedySearch {
 public:
  GreedySearch(std::span<const uint64_t> a, std::span<const uint64_t> b) : a_(a), b_(b) {}

  bool run(size_t most_edits) {
    for (size_t edits = 0; edits <= most_edits; ++edits) {
      furthest_.emplace_back(2 * edits + 1);
      for (size_t at = 0; at <= 2 * edits; at += 2) {
        if (advance(edits, at)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::vector<std::pair<size_t, size_t>> matches() const {
    std::vector<std::pair<size_t, size_t>> found;
    size_t x = a_.size();
    size_t y = b_.size();
    for (size_t edits = furthest_.size(); edits-- > 0;) {
      const size_t at = x + edits - y;
      const size_t start = start_of(edits, at);
      while (x > start) {
        --x;
        --y;
        found.emplace_back(x, y);
      }
      if (edits == 0) break;
      (is_insertion(edits, at) ? y : x) -= 1;
    }
    std::ranges::reverse(found);
    return found;
  }

 private:
  // Diagonals of `edits` are at - edits; those of one edit fewer stand one place to the left.
  [[nodiscard]] bool is_insertion(size_t edits, size_t at) const {
    const std::vector<size_t>& before = furthest_[edits - 1];
    return at == 0 || (at != 2 * edits && before[at - 2] < before[at]);
  }
  // Where the run of equal elements begins.
  [[nodiscard]] size_t start_of(size_t edits, size_t at) const {
    if (edits == 0) return 0;
    const std::vector<size_t>& before = furthest_[edits - 1];
    return is_insertion(edits, at) ? before[at] : before[at - 2] + 1;
  }
  bool advance(size_t edits, size_t at) {
    size_t x = start_of(edits, at);
    // Off the end of b there is nothing to find.
    if (x + edits < at || x > a_.size()) {
      furthest_[edits][at] = x;
      return false;
    }
    size_t y = x + edits - at;
    while (x < a_.size() && y < b_.size() && a_[x] == b_[y]) {
      ++x;
      ++y;
    }
    furthest_[edits][at] = x;
    return x >= a_.size() && y >= b_.size();
  }

  std::span<const uint64_t> a_;
  std::span<const uint64_t> b_;
  std::vector<std::vector<size_t>> furthest_;
};

}  // namespace

std::optional<std::vector<std::pair<size_t, size_t>>> common_sequence(std::span<const uint64_t> a, std::span<const uint64_t> b,
                                                                      size_t most_edits) {
  GreedySearch search(a, b);
  if (!search.run(std::min(most_edits, a.size() + b.size()))) return std::nullopt;
  return search.matches();
}

}  // namespace tensortap
