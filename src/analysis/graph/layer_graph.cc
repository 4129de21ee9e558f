#include "graph/layer_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tensortap {
namespace {

constexpr size_t kBendsPerUnit = 4;
constexpr size_t kBendsAlways = 256;

// Counted lists of `count` owners from pairs of owner and item, in the order of the pairs.
template <class Pairs>
ItemLists lists_of(size_t count, const Pairs& pairs) {
  ItemLists lists;
  lists.first.assign(count + 1, 0);
  for (const auto& [owner, item] : pairs) ++lists.first[owner + size_t{1}];
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  lists.items.resize(pairs.size());
  std::vector<uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  for (const auto& [owner, item] : pairs) lists.items[next[owner]++] = item;
  return lists;
}

// A line that needs bends: from `unit` down by `count` layers, or from the upper edge down to it.
struct Wish {
  uint32_t count;
  uint32_t unit;
  bool is_down;
};

class Builder {
 public:
  explicit Builder(const GroupContents& contents) : contents_(contents) {
    const auto units = static_cast<uint32_t>(contents.widths.size());
    graph_.layer = layers_of(units, contents.edges);
    graph_.down.resize(units);
    graph_.up.resize(units);
    last_layer_ = units == 0 ? 0 : *std::ranges::max_element(graph_.layer);
  }

  LayerGraph build() {
    grant(wishes());
    add_bends();
    add_links();
    std::vector<std::pair<uint32_t, uint32_t>> placed;
    for (uint32_t item = 0; item < graph_.layer.size(); ++item) placed.emplace_back(graph_.layer[item], item);
    graph_.layers = lists_of(graph_.layer.empty() ? 0 : last_layer_ + size_t{1}, placed);
    graph_.below = lists_of(graph_.layer.size(), links_);
    for (auto& [upper, lower] : links_) std::swap(upper, lower);
    graph_.above = lists_of(graph_.layer.size(), links_);
    return std::move(graph_);
  }

 private:
  [[nodiscard]] uint32_t layers_between(const UnitEdge& edge) const { return graph_.layer[edge.lower()] - graph_.layer[edge.upper()] - 1; }

  [[nodiscard]] std::vector<Wish> wishes() const {
    std::vector<Wish> wishes;
    for (const UnitEdge& edge : contents_.edges) wishes.push_back({layers_between(edge), edge.upper(), true});
    for (uint32_t unit = 0; unit < graph_.units(); ++unit) {
      if (contents_.leaves[unit]) wishes.push_back({last_layer_ - graph_.layer[unit], unit, true});
      if (contents_.enters[unit]) wishes.push_back({graph_.layer[unit], unit, false});
    }
    std::erase_if(wishes, [](const Wish& wish) { return wish.count == 0; });
    std::ranges::stable_sort(wishes, {}, &Wish::count);
    return wishes;
  }

  void grant(const std::vector<Wish>& wishes) {
    size_t left = kBendsAlways + kBendsPerUnit * graph_.units();
    for (const Wish& wish : wishes) {
      uint32_t& count = (wish.is_down ? graph_.down : graph_.up)[wish.unit].count;
      if (wish.count <= count || wish.count - count > left) continue;
      left -= wish.count - count;
      count = wish.count;
    }
  }

  void add_bends() {
    const auto add = [this](BendChain& chain, uint32_t first_layer) {
      chain.first = static_cast<uint32_t>(graph_.layer.size());
      for (uint32_t bend = 0; bend < chain.count; ++bend) graph_.layer.push_back(first_layer + bend);
    };
    for (uint32_t unit = 0; unit < graph_.units(); ++unit) {
      add(graph_.down[unit], graph_.layer[unit] + 1);
      add(graph_.up[unit], 0);
    }
  }

  void add_links() {
    for (const UnitEdge& edge : contents_.edges) {
      const uint32_t between = layers_between(edge);
      const BendChain& chain = graph_.down[edge.upper()];
      if (between == 0) {
        links_.emplace_back(edge.upper(), edge.lower());
      } else if (between <= chain.count) {
        links_.emplace_back(chain.first + between - 1, edge.lower());
      }
    }
    for (uint32_t unit = 0; unit < graph_.units(); ++unit) {
      const BendChain& down = graph_.down[unit];
      const BendChain& up = graph_.up[unit];
      if (down.count > 0) links_.emplace_back(unit, down.first);
      if (up.count > 0) links_.emplace_back(up.first + up.count - 1, unit);
      for (uint32_t bend = 1; bend < down.count; ++bend) links_.emplace_back(down.first + bend - 1, down.first + bend);
      for (uint32_t bend = 1; bend < up.count; ++bend) links_.emplace_back(up.first + bend - 1, up.first + bend);
    }
  }

  const GroupContents& contents_;
  uint32_t last_layer_ = 0;
  LayerGraph graph_;
  std::vector<std::pair<uint32_t, uint32_t>> links_;  // upper, lower
};

}  // namespace

LayerGraph make_layer_graph(const GroupContents& contents) { return Builder(contents).build(); }

}  // namespace tensortap
