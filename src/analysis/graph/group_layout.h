// GroupLayout: what is directly in one group, in layers, with columns for every unit and for every place where a long line passes a layer.

#ifndef TENSORTAP_GRAPH_GROUP_LAYOUT_H_
#define TENSORTAP_GRAPH_GROUP_LAYOUT_H_

#include <vector>

#include "graph/columns.h"
#include "graph/layer_graph.h"

namespace tensortap {

struct GroupLayout {
  LayerGraph graph;
  std::vector<float> width;  // by item
  std::vector<float> left;   // the leftmost is at 0
};

// Deterministic; time and memory are linear in units and edges, beside sorting.
GroupLayout lay_out(const GroupContents& contents);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GROUP_LAYOUT_H_
