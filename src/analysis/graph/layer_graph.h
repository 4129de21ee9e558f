// LayerGraph: the contents of a group in layers, where every link leads from one layer to the next: long lines are cut into bends.

#ifndef TENSORTAP_GRAPH_LAYER_GRAPH_H_
#define TENSORTAP_GRAPH_LAYER_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/layering.h"

namespace tensortap {

struct GroupContents {
  std::span<const UnitEdge> edges;  // sorted, with the back edges marked
  std::vector<float> widths;        // of each unit
  std::vector<bool> enters;         // by unit: a line reaches it from above the group
  std::vector<bool> leaves;         // by unit: a line from it leaves below
};

// Bends of one line, in successive layers.
struct BendChain {
  uint32_t first = 0;  // item
  uint32_t count = 0;
};

// For each item a list of others, in one piece of memory.
struct ItemLists {
  std::vector<uint32_t> first;
  std::vector<uint32_t> items;
  [[nodiscard]] std::span<const uint32_t> of(uint32_t item) const {
    return {items.data() + first[item], size_t{first[item + size_t{1}]} - first[item]};
  }
};

// Items are the units, then the bends: places where a long line passes a layer.
struct LayerGraph {
  std::vector<uint32_t> layer;  // by item
  ItemLists layers;             // items of each layer, from left to right
  ItemLists above;              // by item: what it is linked to in the layer above
  ItemLists below;
  std::vector<BendChain> down;  // by unit: from the layer below it on, for all lines that leave it
  std::vector<BendChain> up;    // by unit: from the first layer to the one above it, for lines from outside

  [[nodiscard]] uint32_t units() const { return static_cast<uint32_t>(down.size()); }
  [[nodiscard]] uint32_t layer_count() const { return static_cast<uint32_t>(layers.first.size() - 1); }
  [[nodiscard]] bool is_bend(uint32_t item) const { return item >= down.size(); }
};

// All lines that leave a unit share their bends. Bends are few for each unit on average: the longest lines, which would need more, get none
// or end early, and are links no more. Linear, beside sorting edges by length.
LayerGraph make_layer_graph(const GroupContents& contents);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_LAYER_GRAPH_H_
