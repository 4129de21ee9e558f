#include "graph/group_graphs.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tensortap {

GroupGraphs::GroupGraphs(const GroupTree& tree, std::span<const uint32_t> groups, std::span<const ModelEdge> edges) : tree_(tree) {
  find_units(groups);
  lift_edges(groups, edges);
  for (uint32_t group = 0; group < tree_.size(); ++group) {
    mark_back_edges(static_cast<uint32_t>(units(group).size()), {edges_.data() + first_edge_[group], this->edges(group).size()});
  }
  find_outward(groups, edges);
}

void GroupGraphs::find_units(std::span<const uint32_t> groups) {
  const auto ops = static_cast<uint32_t>(groups.size());
  std::vector<uint32_t> first_op(tree_.size(), kNone);
  for (uint32_t op = ops; op-- > 0;) first_op[groups[op]] = op;
  for (uint32_t group = tree_.size(); group-- > 1;) {
    first_op[tree_.parent(group)] = std::min(first_op[tree_.parent(group)], first_op[group]);
  }
  const auto group_of = [&](UnitId unit) { return unit < ops ? groups[unit] : tree_.parent(unit - ops); };
  const auto order_of = [&](UnitId unit) {
    return std::tuple(group_of(unit), unit < ops ? unit : first_op[unit - ops], unit >= ops ? 0 : 1, unit);
  };
  units_.resize(ops + size_t{tree_.size()} - 1);
  std::iota(units_.begin(), units_.begin() + ops, 0U);
  std::iota(units_.begin() + ops, units_.end(), ops + 1);  // the root is in nothing
  std::ranges::sort(units_, {}, order_of);
  first_unit_.assign(tree_.size() + size_t{1}, 0);
  positions_.assign(ops + size_t{tree_.size()}, 0);
  for (const UnitId unit : units_) positions_[unit] = first_unit_[group_of(unit) + size_t{1}]++;
  std::partial_sum(first_unit_.begin(), first_unit_.end(), first_unit_.begin());
}

void GroupGraphs::lift_edges(std::span<const uint32_t> groups, std::span<const ModelEdge> edges) {
  struct Lifted {
    uint32_t group;
    uint32_t from;
    uint32_t to;
    uint32_t source;  // number of the edge of ops
  };
  const auto ops = static_cast<uint32_t>(groups.size());
  const auto unit_in = [&](OpId op, uint32_t group) -> UnitId {
    if (groups[op] == group) return op;
    return ops + tree_.ancestor(groups[op], tree_.depth(group) + 1);
  };
  std::vector<Lifted> lifted;
  lifted.reserve(edges.size());
  for (uint32_t i = 0; i < edges.size(); ++i) {
    if (edges[i].from == edges[i].to) continue;
    const uint32_t group = tree_.common(groups[edges[i].from], groups[edges[i].to]);
    lifted.push_back({group, positions_[unit_in(edges[i].from, group)], positions_[unit_in(edges[i].to, group)], i});
  }
  std::ranges::sort(lifted, {}, [](const Lifted& edge) { return std::tuple(edge.group, edge.from, edge.to, edge.source); });
  places_.resize(edges.size());
  first_edge_.assign(tree_.size() + size_t{1}, 0);
  const Lifted* last = nullptr;
  for (const Lifted& edge : lifted) {
    if (last == nullptr || std::tie(last->group, last->from, last->to) != std::tie(edge.group, edge.from, edge.to)) {
      edges_.push_back({edge.from, edge.to, 0, false});
      ++first_edge_[edge.group + size_t{1}];
    }
    edges_.back().values += edges[edge.source].values;
    places_[edge.source] = {edge.group, first_edge_[edge.group + size_t{1}] - 1};
    last = &edge;
  }
  std::partial_sum(first_edge_.begin(), first_edge_.end(), first_edge_.begin());
}

void GroupGraphs::find_outward(std::span<const uint32_t> groups, std::span<const ModelEdge> edges) {
  const auto ops = static_cast<uint32_t>(groups.size());
  above_.assign(positions_.size(), kNone);
  below_.assign(positions_.size(), kNone);
  for (size_t i = 0; i < edges.size(); ++i) {
    const Place place = places_[i];
    if (place.group == kNone) continue;
    const bool back = this->edges(place.group)[place.edge].back;
    const OpId upper = back ? edges[i].to : edges[i].from;
    const OpId lower = back ? edges[i].from : edges[i].to;
    below_[upper] = std::min(below_[upper], tree_.depth(place.group));
    above_[lower] = std::min(above_[lower], tree_.depth(place.group));
  }
  const auto add_to = [&](uint32_t group, UnitId unit) {
    above_[ops + group] = std::min(above_[ops + group], above_[unit]);
    below_[ops + group] = std::min(below_[ops + group], below_[unit]);
  };
  for (OpId op = 0; op < ops; ++op) add_to(groups[op], op);
  for (uint32_t group = tree_.size(); group-- > 1;) add_to(tree_.parent(group), ops + group);
}

}  // namespace tensortap
