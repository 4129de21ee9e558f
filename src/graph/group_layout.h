// GroupLayout: what is directly in one group, in layers, with columns for every unit and for every place where a long line passes a layer.

#ifndef TENSORTAP_GRAPH_GROUP_LAYOUT_H_
#define TENSORTAP_GRAPH_GROUP_LAYOUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/layering.h"

namespace tensortap {

inline constexpr float kUnitGap = 20;  // between boxes beside each other
inline constexpr float kLineGap = 8;   // between two lines, or a line and a box

struct GroupContents {
  std::span<const UnitEdge> edges;  // sorted, with the back edges marked
  std::vector<float> widths;        // of each unit
  std::vector<bool> enters;         // by unit: a line reaches it from above the group
  std::vector<bool> leaves;         // by unit: a line from it leaves below
};

// Items are the units, then the bends: places where a long line passes a layer. Positions are of the left edge; the leftmost is at 0.
struct GroupLayout {
  // Bends of one line, in successive layers.
  struct Chain {
    uint32_t first = 0;  // item
    uint32_t count = 0;
  };
  std::vector<uint32_t> layer;  // by item
  std::vector<float> width;
  std::vector<float> left;
  std::vector<uint32_t> order;           // items by layer, from left to right
  std::vector<uint32_t> first_in_layer;  // positions in `order`; one more than there are layers
  std::vector<Chain> down;               // by unit: from the layer below it on, for all lines that leave it
  std::vector<Chain> up;                 // by unit: from the first layer to the one above it, for lines from outside

  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(first_in_layer.size() - 1); }
  [[nodiscard]] bool is_unit(uint32_t item) const { return item < down.size(); }
  [[nodiscard]] float gap(uint32_t left_item, uint32_t right_item) const {
    return is_unit(left_item) && is_unit(right_item) ? kUnitGap : kLineGap;
  }
};

// Deterministic; time and memory are linear in units and edges. Lines that would need too many bends get none, the longest first.
GroupLayout lay_out(const GroupContents& contents);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GROUP_LAYOUT_H_
