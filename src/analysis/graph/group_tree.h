// GroupTree: groups within groups, and what two of them are both in.

#ifndef TENSORTAP_GRAPH_GROUP_TREE_H_
#define TENSORTAP_GRAPH_GROUP_TREE_H_

#include <cstdint>
#include <vector>

namespace tensortap {

// A tree of any depth; a parent has a smaller number than its children, and 0 is the root. Value type.
class GroupTree {
 public:
  GroupTree() : nodes_(1) {}
  // The number of a new group in `parent`.
  uint32_t add(uint32_t parent) {
    const Node& above = nodes_[parent];
    const bool long_jump = above.depth - nodes_[above.jump].depth == nodes_[above.jump].depth - nodes_[nodes_[above.jump].jump].depth;
    nodes_.push_back({parent, long_jump ? nodes_[above.jump].jump : parent, above.depth + 1});
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  [[nodiscard]] uint32_t parent(uint32_t group) const { return nodes_[group].parent; }
  [[nodiscard]] uint32_t depth(uint32_t group) const { return nodes_[group].depth; }

  // Returns `group` or its ancestor at `depth`, which must not exceed the group's own depth. Logarithmic.
  [[nodiscard]] uint32_t ancestor(uint32_t group, uint32_t depth) const {
    while (nodes_[group].depth > depth) group = nodes_[nodes_[group].jump].depth >= depth ? nodes_[group].jump : nodes_[group].parent;
    return group;
  }
  // The innermost group that both are, or are in. Logarithmic.
  [[nodiscard]] uint32_t common(uint32_t left, uint32_t right) const {
    if (nodes_[left].depth > nodes_[right].depth) left = ancestor(left, nodes_[right].depth);
    if (nodes_[right].depth > nodes_[left].depth) right = ancestor(right, nodes_[left].depth);
    while (left != right) {
      const bool apart = nodes_[left].jump != nodes_[right].jump;
      left = apart ? nodes_[left].jump : nodes_[left].parent;
      right = apart ? nodes_[right].jump : nodes_[right].parent;
    }
    return left;
  }

 private:
  struct Node {
    uint32_t parent = 0;
    uint32_t jump = 0;  // further up, by steps that make every way up logarithmic
    uint32_t depth = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GROUP_TREE_H_
