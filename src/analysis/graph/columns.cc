#include "graph/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace tensortap {
namespace {

constexpr double kGrid = 2;  // positions are whole numbers of 1 / kGrid

// One of the four ways to align: with what is above or below, leaning to the left or to the right.
struct Leaning {
  bool down;  // with the items above
  bool right;
};

class Aligner {
 public:
  Aligner(const LayerGraph& graph, std::span<const float> widths)
      : graph_(graph), widths_(widths), position_(graph.layer.size()), crossed_(graph.above.items.size()) {
    for (uint32_t layer = 0; layer < graph.layer_count(); ++layer) {
      uint32_t position = 0;
      for (const uint32_t item : graph.layers.of(layer)) position_[item] = position++;
    }
    for (uint32_t layer = 1; layer < graph.layer_count(); ++layer) mark_crossed(layer);
  }

  // The middle of each item. Leaning to the right, as negative numbers: mirrored.
  std::vector<double> middles(Leaning leaning) {
    align(leaning);
    return compact(leaning.right);
  }

 private:
  [[nodiscard]] uint32_t bend_above(uint32_t item) const {
    if (!graph_.is_bend(item)) return kNone;
    for (const uint32_t upper : graph_.above.of(item)) {
      if (graph_.is_bend(upper)) return upper;
    }
    return kNone;
  }

  // Marks the links to this layer that cross one between two bends.
  void mark_crossed(uint32_t layer) {
    const std::span<const uint32_t> items = graph_.layers.of(layer);
    const auto last = static_cast<uint32_t>(graph_.layers.of(layer - 1).size());
    uint32_t leftmost = 0;
    size_t done = 0;
    for (size_t at = 0; at < items.size(); ++at) {
      const uint32_t bend = bend_above(items[at]);
      if (bend == kNone && at + 1 < items.size()) continue;
      const uint32_t rightmost = bend == kNone ? last : position_[bend];
      for (; done <= at; ++done) {
        for (uint32_t link = graph_.above.first[items[done]]; link < graph_.above.first[items[done] + size_t{1}]; ++link) {
          const uint32_t upper = graph_.above.items[link];
          const bool between_bends = graph_.is_bend(upper) && graph_.is_bend(items[done]);
          if (!between_bends && (position_[upper] < leftmost || position_[upper] > rightmost)) crossed_[link] = true;
        }
      }
      leftmost = rightmost;
    }
  }

  [[nodiscard]] bool is_crossed(uint32_t upper, uint32_t lower) const {
    const std::span<const uint32_t> links = graph_.above.of(lower);
    const auto found = std::ranges::lower_bound(links, position_[upper], {}, [this](uint32_t item) { return position_[item]; });
    return crossed_[graph_.above.first[lower] + static_cast<size_t>(found - links.begin())];
  }

  // Joins each item to the middle one of its links, where no other that was joined is crossed: items that are joined are one block.
  void align(Leaning leaning) {
    const auto count = static_cast<uint32_t>(graph_.layer.size());
    root_.resize(count);
    for (uint32_t item = 0; item < count; ++item) root_[item] = item;
    const uint32_t layers = graph_.layer_count();
    for (uint32_t step = 1; step < layers; ++step) {
      const std::span<const uint32_t> items = graph_.layers.of(leaning.down ? step : layers - 1 - step);
      int64_t limit = leaning.right ? std::numeric_limits<int64_t>::max() : -1;
      for (size_t at = 0; at < items.size(); ++at) join(items[leaning.right ? items.size() - 1 - at : at], leaning, limit);
    }
  }

  void join(uint32_t item, Leaning leaning, int64_t& limit) {
    const std::span<const uint32_t> others = (leaning.down ? graph_.above : graph_.below).of(item);
    if (others.empty()) return;
    std::array<size_t, 2> middles = {(others.size() - 1) / 2, others.size() / 2};
    if (leaning.right) std::swap(middles[0], middles[1]);
    for (const size_t middle : middles) {
      const uint32_t other = others[middle];
      const int64_t position = position_[other];
      const bool is_free = leaning.right ? position < limit : position > limit;
      if (!is_free) continue;
      if (leaning.down ? is_crossed(other, item) : is_crossed(item, other)) continue;
      root_[item] = root_[other];
      limit = position;
      return;
    }
  }

  // Blocks as far to one side as their order in the layers allows, then as far to the other as that leaves room.
  std::vector<double> compact(bool mirrored) {
    order_blocks(mirrored);
    std::vector<double> middle(root_.size(), 0);
    for (const uint32_t block : blocks_) {
      for (const Neighbour& next : after(block)) middle[next.block] = std::max(middle[next.block], middle[block] + next.distance);
    }
    for (size_t at = blocks_.size(); at-- > 0;) {
      const uint32_t block = blocks_[at];
      double room = std::numeric_limits<double>::infinity();
      for (const Neighbour& next : after(block)) room = std::min(room, middle[next.block] - next.distance);
      if (!std::isinf(room)) middle[block] = std::max(middle[block], room);
    }
    for (size_t item = 0; item < middle.size(); ++item) middle[item] = middle[root_[item]];
    if (mirrored) {
      for (double& x : middle) x = -x;
    }
    return middle;
  }

  struct Neighbour {
    uint32_t block;
    double distance;
  };
  [[nodiscard]] std::span<const Neighbour> after(uint32_t block) const {
    return {neighbours_.data() + first_neighbour_[block], size_t{first_neighbour_[block + size_t{1}]} - first_neighbour_[block]};
  }

  // Calls with each two items that are beside each other, and how far apart their middles are at least.
  template <class Function>
  void for_each_pair(bool mirrored, const Function& function) const {
    for (uint32_t layer = 0; layer < graph_.layer_count(); ++layer) {
      const std::span<const uint32_t> items = graph_.layers.of(layer);
      for (size_t at = 1; at < items.size(); ++at) {
        const uint32_t left = items[at - 1];
        const uint32_t right = items[at];
        const double distance = (double{widths_[left]} + double{widths_[right]}) / 2 + double{gap_between(graph_, left, right)};
        function(root_[mirrored ? right : left], root_[mirrored ? left : right], distance);
      }
    }
  }

  void order_blocks(bool mirrored) {
    const size_t count = root_.size();
    first_neighbour_.assign(count + 1, 0);
    std::vector<uint32_t> waiting(count);
    for_each_pair(mirrored, [&](uint32_t left, uint32_t right, double) {
      ++first_neighbour_[left + size_t{1}];
      ++waiting[right];
    });
    for (size_t item = 0; item < count; ++item) first_neighbour_[item + 1] += first_neighbour_[item];
    neighbours_.resize(first_neighbour_.back());
    std::vector<uint32_t> next(first_neighbour_.begin(), first_neighbour_.end() - 1);
    for_each_pair(mirrored, [&](uint32_t left, uint32_t right, double distance) { neighbours_[next[left]++] = {right, distance}; });
    blocks_.clear();
    for (uint32_t item = 0; item < count; ++item) {
      if (root_[item] == item && waiting[item] == 0) blocks_.push_back(item);
    }
    for (size_t at = 0; at < blocks_.size(); ++at) {
      for (const Neighbour& neighbour : after(blocks_[at])) {
        if (--waiting[neighbour.block] == 0) blocks_.push_back(neighbour.block);
      }
    }
  }

  static constexpr uint32_t kNone = 0xffffffffU;
  const LayerGraph& graph_;
  std::span<const float> widths_;
  std::vector<uint32_t> position_;  // within the layer
  std::vector<bool> crossed_;       // by position in above.items
  std::vector<uint32_t> root_;      // the first item of the block that an item is in
  std::vector<Neighbour> neighbours_;
  std::vector<uint32_t> first_neighbour_;  // by block
  std::vector<uint32_t> blocks_;           // such that each is before those to its right
};

struct Extent {
  double left = std::numeric_limits<double>::infinity();
  double right = -std::numeric_limits<double>::infinity();
};

Extent extent_of(const std::vector<double>& middles, std::span<const float> widths) {
  Extent extent;
  for (size_t item = 0; item < middles.size(); ++item) {
    extent.left = std::min(extent.left, middles[item] - double{widths[item]} / 2);
    extent.right = std::max(extent.right, middles[item] + double{widths[item]} / 2);
  }
  return extent;
}

// The mean of the two middle ones of the four, which are moved to the same side of the narrowest first.
std::vector<double> balanced(std::array<std::vector<double>, 4>& all, const std::array<Leaning, 4>& leanings,
                             std::span<const float> widths) {
  std::array<Extent, 4> extents;
  for (size_t i = 0; i < all.size(); ++i) extents[i] = extent_of(all[i], widths);
  const auto width = [](const Extent& extent) { return extent.right - extent.left; };
  const Extent narrowest = *std::ranges::min_element(extents, {}, width);
  for (size_t i = 0; i < all.size(); ++i) {
    const double shift = leanings[i].right ? narrowest.right - extents[i].right : narrowest.left - extents[i].left;
    for (double& x : all[i]) x += shift;
  }
  std::vector<double> middles;
  for (size_t item = 0; item < all[0].size(); ++item) {
    std::array<double, 4> places = {all[0][item], all[1][item], all[2][item], all[3][item]};
    std::ranges::sort(places);
    middles.push_back((places[1] + places[2]) / 2);
  }
  return middles;
}

}  // namespace

std::vector<float> columns_of(const LayerGraph& graph, std::span<const float> widths) {
  if (widths.empty()) return {};
  constexpr std::array<Leaning, 4> kLeanings = {Leaning{true, false}, Leaning{true, true}, Leaning{false, false}, Leaning{false, true}};
  Aligner aligner(graph, widths);
  std::array<std::vector<double>, 4> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = aligner.middles(kLeanings[i]);
  std::vector<double> left = balanced(all, kLeanings, widths);
  double leftmost = std::numeric_limits<double>::infinity();
  for (uint32_t layer = 0; layer < graph.layer_count(); ++layer) {
    const std::span<const uint32_t> items = graph.layers.of(layer);
    for (size_t at = 0; at < items.size(); ++at) {
      double& x = left[items[at]];
      x = std::round((x - double{widths[items[at]]} / 2) * kGrid) / kGrid;
      if (at > 0) {
        const uint32_t before = items[at - 1];
        x = std::max(x, left[before] + double{widths[before]} + double{gap_between(graph, before, items[at])});
      }
      leftmost = std::min(leftmost, x);
    }
  }
  std::vector<float> columns;
  for (const double x : left) columns.push_back(static_cast<float>(x - leftmost));
  return columns;
}

}  // namespace tensortap
