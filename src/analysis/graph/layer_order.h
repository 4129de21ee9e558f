// The order of what is beside each other in the layers.

#ifndef TENSORTAP_GRAPH_LAYER_ORDER_H_
#define TENSORTAP_GRAPH_LAYER_ORDER_H_

#include "graph/layer_graph.h"

namespace tensortap {

// Sorts the items of each layer so that few links cross: by the mean position of what they are linked to in the layer above or below, in
// sweeps down and up; then sorts the links of every item by position. Deterministic; linear, beside sorting within the layers.
void order_layers(LayerGraph& graph);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_LAYER_ORDER_H_
