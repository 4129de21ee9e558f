#include "graph/group_layout.h"

#include "graph/layer_order.h"

namespace tensortap {
namespace {

constexpr float kBendWidth = 2;

}  // namespace

GroupLayout lay_out(const GroupContents& contents) {
  GroupLayout layout;
  layout.graph = make_layer_graph(contents);
  order_layers(layout.graph);
  layout.width = contents.widths;
  layout.width.resize(layout.graph.layer.size(), kBendWidth);
  layout.left = columns_of(layout.graph, layout.width);
  return layout;
}

}  // namespace tensortap
