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
  for (size_t unit = 0; unit < layout_.down.size(); ++unit) {
    ways_.push_back(way_of(layout_.down[unit]));
    ways_.push_back(way_of(layout_.up[unit]));
  }
}

void PlacedGroup::push_right(std::span<const BoxSize> sizes) {
  const auto width = [&](uint32_t item) { return layout_.is_unit(item) ? sizes[item].width : layout_.width[item]; };
  for (uint32_t layer = 0; layer < layout_.layers(); ++layer) {
    const uint32_t first = layout_.first_in_layer[layer];
    for (uint32_t at = first; at < layout_.first_in_layer[layer + size_t{1}]; ++at) {
      const uint32_t item = layout_.order[at];
      if (at > first) {
        const uint32_t before = layout_.order[at - size_t{1}];
        left_[item] = std::max(left_[item], left_[before] + width(before) + layout_.gap(before, item));
      }
      size_.width = std::max(size_.width, left_[item] + width(item));
    }
  }
}

void PlacedGroup::push_down(std::span<const BoxSize> sizes) {
  std::vector<float> heights(layout_.layers());
  for (uint32_t unit = 0; unit < sizes.size(); ++unit) {
    heights[layout_.layer[unit]] = std::max(heights[layout_.layer[unit]], sizes[unit].height);
  }
  float y = 0;
  for (const float height : heights) {
    tops_.push_back(y);
    bottoms_.push_back(y + height);
    y += height + kLayerGap;
  }
  size_.height = bottoms_.empty() ? 0 : bottoms_.back();
}

PlacedGroup::Way PlacedGroup::way_of(const GroupLayout::Chain& chain) {
  Way way{static_cast<uint32_t>(pieces_.size()), 0};
  for (uint32_t item = chain.first; item < chain.first + chain.count; ++item) {
    const float x = left_[item] + layout_.width[item] / 2;
    if (way.count > 0 && pieces_.back().x == x) {
      pieces_.back().last_layer = layout_.layer[item];
    } else {
      pieces_.push_back({x, layout_.layer[item], layout_.layer[item]});
      ++way.count;
    }
  }
  return way;
}

}  // namespace tensortap
