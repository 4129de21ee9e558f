// GroupGraphs: for each group, the graph of what is directly in it, made of the edges between the ops further inside.

#ifndef TENSORTAP_GRAPH_GROUP_GRAPHS_H_
#define TENSORTAP_GRAPH_GROUP_GRAPHS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/group_tree.h"
#include "graph/layering.h"
#include "graph/model_edges.h"

namespace tensortap {

// What is directly in a group: an op or a group. Numbers below the count of ops are ops, the others groups.
using UnitId = uint32_t;

// Immutable. Making one takes time linear in ops, groups and edges, times a logarithm.
class GroupGraphs {
 public:
  static constexpr uint32_t kNone = 0xffffffffU;

  // `groups` holds the group of each op.
  GroupGraphs(const GroupTree& tree, std::span<const uint32_t> groups, std::span<const ModelEdge> edges);

  // In the order of their first op.
  [[nodiscard]] std::span<const UnitId> units(uint32_t group) const { return part(units_, first_unit_, group); }
  // Between positions in units(group), sorted; without those that lead in or out.
  [[nodiscard]] std::span<const UnitEdge> edges(uint32_t group) const { return part(edges_, first_edge_, group); }

  // Where the edge of two ops (its position in the list) is one between two units: the group, and the position in edges(group).
  struct Place {
    uint32_t group = kNone;  // none: the edge of an op to itself
    uint32_t edge = 0;
  };
  [[nodiscard]] Place place(size_t op_edge) const { return places_[op_edge]; }
  [[nodiscard]] uint32_t position(UnitId unit) const { return positions_[unit]; }

  // Whether an edge reaches the unit, which is in `group`, from above the group's box, or leaves it below.
  [[nodiscard]] bool enters(UnitId unit, uint32_t group) const { return above_[unit] < tree_.depth(group); }
  [[nodiscard]] bool leaves(UnitId unit, uint32_t group) const { return below_[unit] < tree_.depth(group); }

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<uint32_t>& first, uint32_t group) {
    return {all.data() + first[group], size_t{first[group + size_t{1}]} - first[group]};
  }
  void find_units(std::span<const uint32_t> groups);
  void lift_edges(std::span<const uint32_t> groups, std::span<const ModelEdge> edges);
  void find_outward(std::span<const uint32_t> groups, std::span<const ModelEdge> edges);

  const GroupTree& tree_;
  std::vector<UnitId> units_;
  std::vector<uint32_t> first_unit_;  // by group
  std::vector<uint32_t> positions_;   // by unit
  std::vector<UnitEdge> edges_;
  std::vector<uint32_t> first_edge_;  // by group
  std::vector<Place> places_;         // by edge of ops
  // By unit: the depth of the outermost group in which an edge to it leads down, or one from it.
  std::vector<uint32_t> above_;
  std::vector<uint32_t> below_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GROUP_GRAPHS_H_
