#include "graph/placed_group.h"

#include <algorithm>
#include <utility>

namespace tensortap {
namespace {

constexpr float kLayerGap = 36;  // where lines go across

}  // namespace

PlacedGroup::PlacedGroup(GroupLayout layout, std::span<const BoxSize> sizes) : layout_(std::move(layout)), left_(layout_.left) {
  push_right(sizes);
  push_down(sizes);
  for (uint32_t unit = 0; unit < layout_.graph.units(); ++unit) {
    ways_.push_back(way_of(layout_.graph.down[unit]));
    ways_.push_back(way_of(layout_.graph.up[unit]));
  }
}

void PlacedGroup::push_right(std::span<const BoxSize> sizes) {
  const LayerGraph& graph = layout_.graph;
  const auto right = [&](uint32_t item) { return left_[item] + (graph.is_bend(item) ? layout_.width[item] : sizes[item].width); };
  for (uint32_t layer = 0; layer < graph.layer_count(); ++layer) {
    const std::span<const uint32_t> items = graph.layers.of(layer);
    for (size_t at = 0; at < items.size(); ++at) {
      float& left = left_[items[at]];
      if (at > 0) left = std::max(left, right(items[at - 1]) + gap_between(graph, items[at - 1], items[at]));
      size_.width = std::max(size_.width, right(items[at]));
    }
  }
}

void PlacedGroup::push_down(std::span<const BoxSize> sizes) {
  std::vector<float> heights(layout_.graph.layer_count());
  for (uint32_t unit = 0; unit < sizes.size(); ++unit) {
    heights[layout_.graph.layer[unit]] = std::max(heights[layout_.graph.layer[unit]], sizes[unit].height);
  }
  float y = 0;
  for (const float height : heights) {
    tops_.push_back(y);
    bottoms_.push_back(y + height);
    y += height + kLayerGap;
  }
  size_.height = bottoms_.empty() ? 0 : bottoms_.back();
}

PlacedGroup::Way PlacedGroup::way_of(const BendChain& chain) {
  Way way{static_cast<uint32_t>(pieces_.size()), 0};
  for (uint32_t item = chain.first; item < chain.first + chain.count; ++item) {
    const float x = left_[item] + layout_.width[item] / 2;
    if (way.count > 0 && pieces_.back().x == x) {
      pieces_.back().last_layer = layout_.graph.layer[item];
    } else {
      pieces_.push_back({x, layout_.graph.layer[item], layout_.graph.layer[item]});
      ++way.count;
    }
  }
  return way;
}

}  // namespace tensortap
