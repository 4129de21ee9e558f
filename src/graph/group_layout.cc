#include "graph/group_layout.h"

#include <algorithm>
#include <numeric>

namespace tensortap {
namespace {

void order_layers(GroupLayout& layout) {
  const uint32_t layers = layout.layer.empty() ? 0 : *std::ranges::max_element(layout.layer) + 1;
  layout.first_in_layer.assign(layers + size_t{1}, 0);
  for (const uint32_t layer : layout.layer) ++layout.first_in_layer[layer + size_t{1}];
  std::partial_sum(layout.first_in_layer.begin(), layout.first_in_layer.end(), layout.first_in_layer.begin());
  layout.order.resize(layout.layer.size());
  std::vector<uint32_t> next(layout.first_in_layer.begin(), layout.first_in_layer.end() - 1);
  for (uint32_t item = 0; item < layout.layer.size(); ++item) layout.order[next[layout.layer[item]]++] = item;
}

}  // namespace

GroupLayout lay_out(const GroupContents& contents) {
  const auto units = static_cast<uint32_t>(contents.widths.size());
  GroupLayout layout;
  layout.layer = layers_of(units, contents.edges);
  layout.width = contents.widths;
  layout.down.resize(units);
  layout.up.resize(units);
  order_layers(layout);
  layout.left.resize(layout.width.size());
  for (uint32_t layer = 0; layer < layout.layers(); ++layer) {
    float x = 0;
    for (uint32_t at = layout.first_in_layer[layer]; at < layout.first_in_layer[layer + size_t{1}]; ++at) {
      layout.left[layout.order[at]] = x;
      x += layout.width[layout.order[at]] + kUnitGap;
    }
  }
  return layout;
}

}  // namespace tensortap
