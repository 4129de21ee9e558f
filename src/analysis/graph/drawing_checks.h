// What is true of every drawing of a graph, checked without the code that drew it: for the tests of this folder and others.

#ifndef TENSORTAP_GRAPH_DRAWING_CHECKS_H_
#define TENSORTAP_GRAPH_DRAWING_CHECKS_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/graph_drawing.h"

namespace tensortap {

// Each function returns what is wrong, in words; "" when nothing is.

inline std::string node_words(const GraphDrawing& drawing, size_t node) {
  const DrawnNode& box = drawing.nodes[node];
  return concat("node ", node, " ", std::string(box.path.substr(0, 80)), " (", box.x - box.width / 2, ",", box.y - box.height / 2, " ",
                box.width, "x", box.height, ")");
}

// Every op must appear once, by itself or within one closed group, which shows how many ops it hides.
inline std::string problem_with_nodes(const GraphModel& model, const GraphDrawing& drawing) {
  std::set<OpId> seen;
  uint64_t hidden = 0;
  for (size_t node = 0; node < drawing.nodes.size(); ++node) {
    const DrawnNode& box = drawing.nodes[node];
    if (box.parent >= static_cast<int64_t>(node)) return node_words(drawing, node) + " is before its group";
    if (box.parent >= 0 && !drawing.nodes[static_cast<size_t>(box.parent)].is_open)
      return node_words(drawing, node) + " is in a closed group";
    if (box.is_group && !box.is_open) hidden += box.ops;
    if (!box.is_group && !seen.insert(box.op).second) return node_words(drawing, node) + " appears twice";
    if (!std::isfinite(box.x) || !std::isfinite(box.y) || box.width <= 0 || box.height <= 0)
      return node_words(drawing, node) + " has no size";
  }
  if (seen.size() + hidden != model.ops().size()) return concat(seen.size(), " ops and ", hidden, " in groups of ", model.ops().size());
  return "";
}

// Boxes of one group are apart, and within it with a margin.
inline std::string problem_with_boxes(const GraphDrawing& drawing) {
  constexpr float kMargin = 8;
  constexpr float kApart = 4;
  std::map<int32_t, std::vector<size_t>> inside;
  for (size_t node = 0; node < drawing.nodes.size(); ++node) inside[drawing.nodes[node].parent].push_back(node);
  const auto left = [&](size_t node) { return drawing.nodes[node].x - drawing.nodes[node].width / 2; };
  const auto top = [&](size_t node) { return drawing.nodes[node].y - drawing.nodes[node].height / 2; };
  for (auto& [parent, nodes] : inside) {
    const bool is_root = parent < 0;
    const auto group = static_cast<size_t>(std::max(parent, 0));
    const float around_left = is_root ? 0 : left(group);
    const float around_top = is_root ? 0 : top(group);
    const float around_right = is_root ? drawing.width : around_left + drawing.nodes[group].width;
    const float around_bottom = is_root ? drawing.height : around_top + drawing.nodes[group].height;
    std::ranges::sort(nodes, {}, [&](size_t node) { return std::pair(top(node), left(node)); });
    for (size_t at = 0; at < nodes.size(); ++at) {
      const size_t node = nodes[at];
      const DrawnNode& box = drawing.nodes[node];
      if (left(node) < around_left + kMargin || top(node) < around_top + kMargin || left(node) + box.width > around_right - kMargin ||
          top(node) + box.height > around_bottom - kMargin) {
        return concat(node_words(drawing, node), " reaches the edge of its group");
      }
      for (size_t next = at + 1; next < nodes.size() && top(nodes[next]) < top(node) + box.height + kApart; ++next) {
        const size_t other = nodes[next];
        if (left(other) < left(node) + box.width + kApart && left(node) < left(other) + drawing.nodes[other].width + kApart) {
          return concat(node_words(drawing, node), " is over ", node_words(drawing, other));
        }
        if (top(other) == top(node) && left(other) >= left(node) + box.width + kApart) break;  // sorted from left to right
      }
    }
  }
  return "";
}

// Lines begin and end at their boxes, and lead down but where they close a cycle, there up.
inline std::string problem_with_lines(const GraphDrawing& drawing) {
  constexpr float kClose = 1;
  for (const DrawnEdge& edge : drawing.edges) {
    const std::string words = concat("line from ", node_words(drawing, edge.from), " to ", node_words(drawing, edge.to));
    if (edge.floats < 4 || edge.floats % 2 != 0 || size_t{edge.first_point} + edge.floats > drawing.points.size())
      return words + " has no points";
    if (edge.from == edge.to) continue;
    const std::span<const float> points(drawing.points.data() + edge.first_point, edge.floats);
    const float down = edge.back ? -1 : 1;
    for (size_t i = 2; i + 1 < points.size(); i += 2) {
      if ((points[i + 1] - points[i - 1]) * down < 0) return words + " turns back";
    }
    const auto is_at = [&](uint32_t node, float x, float y, float side) {
      const DrawnNode& box = drawing.nodes[node];
      return std::abs(x - box.x) <= box.width / 2 && std::abs(y - (box.y + side * box.height / 2)) <= kClose;
    };
    if (!is_at(edge.from, points[0], points[1], down)) return words + " does not begin there";
    if (!is_at(edge.to, points[points.size() - 2], points.back(), -down)) return words + " does not end there";
  }
  return "";
}

// The lines are those between what shows the ops of each edge, with as many values.
inline std::string problem_with_edges(const GraphModel& model, const GraphDrawing& drawing) {
  std::map<uint32_t, uint32_t> closed;  // node of each closed group
  std::map<OpId, uint32_t> own;
  for (uint32_t node = 0; node < drawing.nodes.size(); ++node) {
    const DrawnNode& box = drawing.nodes[node];
    if (!box.is_group) own[box.op] = node;
    if (box.is_group && !box.is_open) closed[box.group] = node;
  }
  const auto node_of = [&](OpId op) {
    if (own.contains(op)) return own[op];
    uint32_t group = model.group_of(op);
    while (!closed.contains(group)) group = model.tree().parent(group);
    return closed[group];
  };
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> expected;
  for (const ModelEdge& edge : model.edges()) {
    const uint32_t from = node_of(edge.from);
    const uint32_t to = node_of(edge.to);
    if (from != to || (edge.from == edge.to && own.contains(edge.from))) expected[{from, to}] += edge.values;
  }
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> drawn;
  for (const DrawnEdge& edge : drawing.edges) drawn[{edge.from, edge.to}] += edge.values;
  return drawn == expected && drawn.size() == drawing.edges.size() ? "" : concat(drawn.size(), " lines for ", expected.size(), " edges");
}

inline std::string problem_with(const GraphModel& model, const GraphDrawing& drawing) {
  for (const std::string& problem :
       {problem_with_nodes(model, drawing), problem_with_boxes(drawing), problem_with_lines(drawing), problem_with_edges(model, drawing)}) {
    if (!problem.empty()) return problem;
  }
  return "";
}

// No line runs through a box that it neither begins nor ends at, nor enters. Quadratic.
inline std::string problem_with_ways(const GraphDrawing& drawing) {
  const auto crosses = [](const DrawnNode& box, std::span<const float> ends) {
    float from = 0;  // the part of the line that is within the box, from 0 to 1
    float to = 1;
    const std::array<float, 2> middle = {box.x, box.y};
    const std::array<float, 2> reach = {box.width / 2 - 0.5F, box.height / 2 - 0.5F};
    for (const size_t axis : {0U, 1U}) {
      const float begin = ends[axis] - middle[axis];
      const float length = ends[axis + 2] - ends[axis];
      if (length == 0) {
        if (std::abs(begin) >= reach[axis]) return false;
        continue;
      }
      const float first = (-reach[axis] - begin) / length;
      const float second = (reach[axis] - begin) / length;
      from = std::max(from, std::min(first, second));
      to = std::min(to, std::max(first, second));
    }
    return from < to;
  };
  for (const DrawnEdge& edge : drawing.edges) {
    if (edge.from == edge.to) continue;
    for (uint32_t node = 0; node < drawing.nodes.size(); ++node) {
      if (drawing.nodes[node].is_open || node == edge.from || node == edge.to) continue;
      for (uint32_t i = edge.first_point; i + 3 < edge.first_point + edge.floats; i += 2) {
        if (!crosses(drawing.nodes[node], {drawing.points.data() + i, 4})) continue;
        return concat("line from ", node_words(drawing, edge.from), " to ", node_words(drawing, edge.to), " crosses ",
                      node_words(drawing, node));
      }
    }
  }
  return "";
}

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_DRAWING_CHECKS_H_
