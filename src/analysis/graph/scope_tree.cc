#include "graph/scope_tree.h"

#include <functional>

namespace tensortap {
namespace {

size_t end_of(std::string_view part, std::string_view path) { return static_cast<size_t>(part.data() - path.data()) + part.size(); }

}  // namespace

size_t ScopeTree::StepHash::operator()(const Step& step) const {
  return std::hash<std::string_view>()(step.part) + step.node * size_t{0x9e3779b97f4a7c15U};
}

// The next part of a path at or after `from`; empty at its end.
std::string_view ScopeTree::part_after(std::string_view path, size_t from) const {
  const auto separates = [this](char c) { return c == '/' || (dots_ && c == '.'); };
  while (from < path.size() && separates(path[from])) ++from;
  size_t end = from;
  while (end < path.size() && !separates(path[end])) ++end;
  return {path.data() + from, end - from};
}

uint32_t ScopeTree::add(std::string_view scope) {
  uint32_t node = 0;
  std::string_view part = part_after(scope, 0);
  while (!part.empty()) {
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    const auto [found, is_new] = children_.try_emplace({node, part}, fresh);
    if (is_new) {
      nodes_.push_back({node, scope, static_cast<size_t>(part.data() - scope.data())});
      return fresh;
    }
    node = found->second;
    const Node child = nodes_[node];
    std::string_view known = part_after(child.path, child.label);
    while (true) {
      const size_t known_end = end_of(known, child.path);
      known = part_after(child.path, known_end);
      part = part_after(scope, end_of(part, scope));
      if (known.empty()) break;
      if (part == known) continue;
      node = split(node, known_end, known);
      break;
    }
  }
  return node;
}

// Puts a new node above `node`: it takes the path up to `end`; `rest` is the first part that stays with `node`.
uint32_t ScopeTree::split(uint32_t node, size_t end, std::string_view rest) {
  const auto upper = static_cast<uint32_t>(nodes_.size());
  Node above = nodes_[node];
  children_[{above.parent, part_after(above.path, above.label)}] = upper;
  children_[{upper, rest}] = node;
  nodes_[node].parent = upper;
  nodes_[node].label = static_cast<size_t>(rest.data() - above.path.data());
  above.path.remove_suffix(above.path.size() - end);
  nodes_.push_back(above);
  return upper;
}

}  // namespace tensortap
