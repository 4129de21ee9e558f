// PlacedGroups: the boxes of all that is to be seen when some groups are open.

#ifndef TENSORTAP_GRAPH_PLACED_GROUPS_H_
#define TENSORTAP_GRAPH_PLACED_GROUPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph_model.h"
#include "graph/placed_group.h"

namespace tensortap {

struct Box {
  float left = 0;
  float top = 0;
  float width = 0;
  float height = 0;
  [[nodiscard]] float middle() const { return left + width / 2; }
  [[nodiscard]] float bottom() const { return top + height; }
};

// Immutable; borrows the model.
class PlacedGroups {
 public:
  // `open` as open_groups() gives it.
  PlacedGroups(const GraphModel& model, const std::vector<bool>& open);

  // Outer ones first, beginning with the root.
  [[nodiscard]] std::span<const uint32_t> open() const { return open_; }
  [[nodiscard]] bool is_open(uint32_t group) const { return number_of_[group] != kClosed; }
  [[nodiscard]] BoxSize size() const { return size_; }
  // What shows an op: itself, or the closed group that hides it.
  [[nodiscard]] UnitId shown(OpId op) const;
  // The box of a unit in an open group. For an open group other than the root, the box of the whole group.
  [[nodiscard]] Box box(UnitId unit) const;
  // The group in which a unit is directly.
  [[nodiscard]] uint32_t group_of(UnitId unit) const;

  // The contents of an open group, and where they begin.
  struct Contents {
    const PlacedGroup* group;
    float left;
    float top;
  };
  [[nodiscard]] Contents contents(uint32_t group) const;

 private:
  static constexpr uint32_t kClosed = 0xffffffffU;
  [[nodiscard]] BoxSize closed_size(UnitId unit) const;
  void place_contents();
  void place_boxes();
  [[nodiscard]] GroupContents contents_of(uint32_t group) const;

  const GraphModel& model_;
  std::vector<uint32_t> open_;
  std::vector<uint32_t> number_of_;  // of each open group in open_
  std::vector<uint32_t> hidden_in_;  // by group: the closed group that hides what is in it; kClosed where it is open
  std::vector<PlacedGroup> placed_;  // by number
  std::vector<Box> boxes_;           // by number
  BoxSize size_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_PLACED_GROUPS_H_
