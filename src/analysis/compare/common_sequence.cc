#include "compare/common_sequence.h"

#include <algorithm>
#include <utility>

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

constexpr size_t kMostMoved = 512;  // matches beside a gap

// Moves the gaps of one sequence, `b` the one that has them.
class GapMover {
 public:
  using Matches = std::vector<std::pair<size_t, size_t>>;
  using Agrees = std::function<bool(size_t, size_t)>;
  GapMover(std::span<const uint64_t> a, std::span<const uint64_t> b, Matches& matches, const Agrees& agrees)
      : a_(a), b_(b), matches_(matches), agrees_(agrees) {}

  void run() {
    for (size_t next = 0; next <= matches_.size(); ++next) {
      const auto [a, b] = next < matches_.size() ? matches_[next] : std::pair(a_.size(), b_.size());
      const auto [after_a, after_b] =
          next > 0 ? std::pair(matches_[next - 1].first + 1, matches_[next - 1].second + 1) : std::pair<size_t, size_t>(0, 0);
      if (a == after_a && b > after_b) move(next, b - after_b);
    }
  }

 private:
  // A gap in front of the match `next`: matches before it may take its last elements, or those behind it its first.
  void move(size_t next, size_t gap) {
    const Gain before = gain(next, gap, true);
    const Gain behind = gain(next, gap, false);
    const Gain& best = before.agreements >= behind.agreements ? before : behind;
    for (size_t i = 0; i < best.moved; ++i) {
      if (&best == &before) {
        matches_[next - 1 - i].second += gap;
      } else {
        matches_[next + i].second -= gap;
      }
    }
  }

  struct Gain {
    size_t moved = 0;
    int64_t agreements = 0;
  };
  [[nodiscard]] Gain gain(size_t next, size_t gap, bool before) const {
    Gain best;
    int64_t agreements = 0;
    const size_t most = std::min(kMostMoved, before ? next : matches_.size() - next);
    for (size_t i = 0; i < most; ++i) {
      const auto [a, b] = matches_[before ? next - 1 - i : next + i];
      // One run of matches.
      const auto [end_a, end_b] = matches_[before ? next - 1 : next];
      if (before ? end_a - a != i || end_b - b != i : a - end_a != i || b - end_b != i) break;
      const size_t moved = before ? b + gap : b - gap;
      if (b_[moved] != a_[a]) break;
      agreements += (agrees_(a, moved) ? 1 : 0) - (agrees_(a, b) ? 1 : 0);
      if (agreements > best.agreements) best = {i + 1, agreements};
    }
    return best;
  }

  std::span<const uint64_t> a_;
  std::span<const uint64_t> b_;
  Matches& matches_;
  const Agrees& agrees_;
};

void swap_sides(std::vector<std::pair<size_t, size_t>>& matches) {
  for (auto& [a, b] : matches) std::swap(a, b);
}

}  // namespace

std::optional<std::vector<std::pair<size_t, size_t>>> common_sequence(std::span<const uint64_t> a, std::span<const uint64_t> b,
                                                                      size_t most_edits) {
  GreedySearch search(a, b);
  if (!search.run(std::min(most_edits, a.size() + b.size()))) return std::nullopt;
  return search.matches();
}

void prefer_agreement(std::span<const uint64_t> a, std::span<const uint64_t> b, std::vector<std::pair<size_t, size_t>>& matches,
                      const std::function<bool(size_t, size_t)>& agrees) {
  GapMover(a, b, matches, agrees).run();
  swap_sides(matches);
  GapMover(b, a, matches, [&agrees](size_t of_b, size_t of_a) { return agrees(of_a, of_b); }).run();
  swap_sides(matches);
}

}  // namespace tensortap
