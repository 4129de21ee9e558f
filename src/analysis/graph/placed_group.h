// PlacedGroup: the contents of an open group with the sizes that they have when some of them are open, too.

#ifndef TENSORTAP_GRAPH_PLACED_GROUP_H_
#define TENSORTAP_GRAPH_PLACED_GROUP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/group_layout.h"

namespace tensortap {

struct BoxSize {
  float width = 0;
  float height = 0;
};

// Immutable. Positions are from the upper left corner of the contents.
class PlacedGroup {
 public:
  // `layout` was made of the closed sizes; `sizes` holds those of the units as they are. Boxes that grew push others to the right, those
  // of lower layers down, and stay where they are themselves.
  PlacedGroup(GroupLayout layout, std::span<const BoxSize> sizes);

  [[nodiscard]] float left(uint32_t unit) const { return left_[unit]; }
  [[nodiscard]] float top(uint32_t unit) const { return tops_[layout_.graph.layer[unit]]; }
  [[nodiscard]] uint32_t layer(uint32_t unit) const { return layout_.graph.layer[unit]; }
  [[nodiscard]] float layer_bottom(uint32_t layer) const { return bottoms_[layer]; }
  [[nodiscard]] BoxSize size() const { return size_; }

  // A straight piece of a line through one or several layers, straight down at `x`.
  struct Piece {
    float x = 0;
    uint32_t first_layer = 0;
    uint32_t last_layer = 0;
  };
  // The way from a unit down through the layers below it, and from the group's upper edge down to it; empty where there are none.
  [[nodiscard]] std::span<const Piece> down(uint32_t unit) const { return ways_[size_t{2} * unit].of(pieces_); }
  [[nodiscard]] std::span<const Piece> up(uint32_t unit) const { return ways_[size_t{2} * unit + 1].of(pieces_); }
  [[nodiscard]] float piece_top(const Piece& piece) const { return tops_[piece.first_layer]; }

 private:
  struct Way {
    uint32_t first = 0;
    uint32_t count = 0;
    [[nodiscard]] std::span<const Piece> of(const std::vector<Piece>& pieces) const { return {pieces.data() + first, count}; }
  };
  void push_right(std::span<const BoxSize> sizes);
  void push_down(std::span<const BoxSize> sizes);
  Way way_of(const BendChain& chain);

  GroupLayout layout_;
  std::vector<float> left_;
  std::vector<float> tops_;     // by layer
  std::vector<float> bottoms_;  // of the highest box in the layer
  BoxSize size_;
  std::vector<Piece> pieces_;
  std::vector<Way> ways_;  // two for each unit
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_PLACED_GROUP_H_
