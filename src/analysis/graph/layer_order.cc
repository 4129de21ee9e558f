#include "graph/layer_order.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tensortap {
namespace {

constexpr int kSweeps = 8;

class Sweeper {
 public:
  explicit Sweeper(LayerGraph& graph) : graph_(graph), position_(graph.layer.size()) {
    for (uint32_t layer = 0; layer < graph.layer_count(); ++layer) number(layer);
  }

  void sweep() {
    for (uint32_t layer = 1; layer < graph_.layer_count(); ++layer) sort_layer(layer, graph_.above);
    for (uint32_t layer = graph_.layer_count(); layer-- > 1;) sort_layer(layer - 1, graph_.below);
  }

  void sort_links(ItemLists& links) const {
    for (uint32_t item = 0; item < position_.size(); ++item) {
      const auto begin = links.items.begin() + links.first[item];
      const auto end = links.items.begin() + links.first[item + size_t{1}];
      if (end - begin > 1) std::ranges::sort(begin, end, {}, [this](uint32_t other) { return position_[other]; });
    }
  }

 private:
  void number(uint32_t layer) {
    uint32_t position = 0;
    for (const uint32_t item : graph_.layers.of(layer)) position_[item] = position++;
  }

  // Items that are linked to nothing there keep their position.
  void sort_layer(uint32_t layer, const ItemLists& links) {
    const std::span<const uint32_t> items = graph_.layers.of(layer);
    if (items.size() < 2) return;
    wanted_.clear();
    for (const uint32_t item : items) {
      const std::span<const uint32_t> others = links.of(item);
      double sum = 0;
      for (const uint32_t other : others) sum += position_[other];
      wanted_.emplace_back(others.empty() ? position_[item] : sum / static_cast<double>(others.size()), item);
    }
    const auto before = [this](const Wanted& left, const Wanted& right) {
      return left.first < right.first || (left.first == right.first && position_[left.second] < position_[right.second]);
    };
    std::ranges::sort(wanted_, before);
    auto place = graph_.layers.items.begin() + graph_.layers.first[layer];
    for (const Wanted& wanted : wanted_) *place++ = wanted.second;
    number(layer);
  }

  using Wanted = std::pair<double, uint32_t>;  // position, item
  LayerGraph& graph_;
  std::vector<uint32_t> position_;
  std::vector<Wanted> wanted_;
};

}  // namespace

void order_layers(LayerGraph& graph) {
  Sweeper sweeper(graph);
  for (int sweeps = 0; sweeps < kSweeps; sweeps += 2) sweeper.sweep();
  sweeper.sort_links(graph.above);
  sweeper.sort_links(graph.below);
}

}  // namespace tensortap
