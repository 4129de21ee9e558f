#include "graph/graph_drawing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/edge_routes.h"
#include "graph/open_groups.h"
#include "graph/placed_groups.h"

namespace tensortap {
namespace {

DrawnNode node_of(const GraphModel& model, UnitId unit) {
  const auto ops = static_cast<uint32_t>(model.ops().size());
  DrawnNode node;
  if (unit < ops) {
    node.op = unit;
    node.group = model.group_of(unit);
    node.captured = model.captured(unit);
    node.name = model.name(unit);
    node.path = model.ops()[unit].name;
    node.type = model.ops()[unit].type;
    node.reason = model.reason(unit);
    return node;
  }
  const GraphModel::Group& group = model.groups()[unit - ops];
  node.is_group = true;
  node.group = unit - ops;
  node.captured = group.captured > 0;
  node.ops = group.ops;
  node.name = group.name;
  node.path = group.path;
  node.type = group.type;
  node.reason = node.captured ? std::string_view() : model.reason(group.first_op);
  return node;
}

void add_nodes(const GraphModel& model, const PlacedGroups& placed, GraphDrawing& view, std::vector<uint32_t>& node_of_unit) {
  const auto ops = static_cast<uint32_t>(model.ops().size());
  for (const uint32_t group : placed.open()) {
    const int32_t parent = group == 0 ? -1 : static_cast<int32_t>(node_of_unit[ops + group]);
    for (const UnitId unit : model.graphs().units(group)) {
      DrawnNode node = node_of(model, unit);
      node.is_open = node.is_group && placed.is_open(node.group);
      node.parent = parent;
      const Box box = placed.box(unit);
      node.width = box.width;
      node.height = box.height;
      node.x = box.left + box.width / 2;
      node.y = box.top + box.height / 2;
      node_of_unit[unit] = static_cast<uint32_t>(view.nodes.size());
      view.nodes.push_back(node);
    }
    if (group != 0) view.open.push_back(group);
  }
}

void add_edges(const GraphModel& model, const PlacedGroups& placed, GraphDrawing& view, std::span<const uint32_t> node_of_unit) {
  struct Seen {
    uint64_t ends;
    uint32_t edge;  // of ops
  };
  std::vector<Seen> seen;
  const std::span<const ModelEdge> edges = model.edges();
  for (uint32_t i = 0; i < edges.size(); ++i) {
    const UnitId from = placed.shown(edges[i].from);
    const UnitId to = placed.shown(edges[i].to);
    if (from == to && edges[i].from != edges[i].to) continue;
    if (from == to && from >= model.ops().size()) continue;
    seen.push_back({uint64_t{node_of_unit[from]} << 32U | node_of_unit[to], i});
  }
  std::ranges::sort(seen, {}, [](const Seen& one) { return std::pair(one.ends, one.edge); });
  EdgeRoutes routes(model, placed, view.points);
  for (size_t i = 0; i < seen.size(); ++i) {
    const ModelEdge& edge = edges[seen[i].edge];
    if (i > 0 && seen[i].ends == seen[i - 1].ends) {
      view.edges.back().values += edge.values;
      continue;
    }
    DrawnEdge line;
    line.from = static_cast<uint32_t>(seen[i].ends >> 32U);
    line.to = static_cast<uint32_t>(seen[i].ends);
    line.values = edge.values;
    line.first_point = static_cast<uint32_t>(view.points.size());
    line.back = routes.add(seen[i].edge);
    line.floats = static_cast<uint32_t>(view.points.size()) - line.first_point;
    view.edges.push_back(line);
  }
}

}  // namespace

GraphDrawing draw(const GraphModel& model, const GraphRequest& request) {
  const PlacedGroups placed(model, open_groups(model, request));
  GraphDrawing view;
  view.width = placed.size().width;
  view.height = placed.size().height;
  std::vector<uint32_t> node_of_unit(model.ops().size() + model.tree().size());
  add_nodes(model, placed, view, node_of_unit);
  add_edges(model, placed, view, node_of_unit);
  return view;
}

std::vector<uint32_t> nodes_of_ops(const GraphModel& model, const GraphDrawing& view) {
  constexpr uint32_t kHidden = 0xffffffffU;
  std::vector<uint32_t> of_group(model.tree().size(), kHidden);
  std::vector<uint32_t> of_op(model.ops().size(), kHidden);
  for (uint32_t node = 0; node < view.nodes.size(); ++node) {
    if (!view.nodes[node].is_group) {
      of_op[view.nodes[node].op] = node;
    } else if (!view.nodes[node].is_open) {
      of_group[view.nodes[node].group] = node;
    }
  }
  for (uint32_t group = 1; group < of_group.size(); ++group) {
    if (of_group[group] == kHidden) of_group[group] = of_group[model.tree().parent(group)];
  }
  for (OpId op = 0; op < of_op.size(); ++op) {
    if (of_op[op] == kHidden) of_op[op] = of_group[model.group_of(op)];
  }
  return of_op;
}

}  // namespace tensortap
