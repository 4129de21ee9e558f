// Columns: how far to the right each item of a layered graph is, by the method of Brandes and Koepf.

#ifndef TENSORTAP_GRAPH_COLUMNS_H_
#define TENSORTAP_GRAPH_COLUMNS_H_

#include <span>
#include <vector>

#include "graph/layer_graph.h"

namespace tensortap {

inline constexpr float kUnitGap = 20;  // between boxes beside each other
inline constexpr float kLineGap = 8;   // between two lines, or a line and a box

inline float gap_between(const LayerGraph& graph, uint32_t left, uint32_t right) {
  return graph.is_bend(left) || graph.is_bend(right) ? kLineGap : kUnitGap;
}

// The left edge of each item; the leftmost is at 0. Items of a layer are in their order and as far apart as gap_between() says. Lines are
// straight where they can be, those through bends first. `graph` was ordered by order_layers(). Deterministic, linear.
std::vector<float> columns_of(const LayerGraph& graph, std::span<const float> widths);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_COLUMNS_H_
