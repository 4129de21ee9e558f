// ScopeTree: the scopes of a dump's ops as groups within groups, from the paths that their names and modules spell.

#ifndef TENSORTAP_GRAPH_SCOPE_TREE_H_
#define TENSORTAP_GRAPH_SCOPE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensortap {

// Chains of scopes with nothing else in them are one node, so there are at most two nodes for each scope that was added, however long
// the paths are. Node 0 is the root, with an empty path. Borrows the texts. Thread-compatible.
class ScopeTree {
 public:
  struct Node {
    uint32_t parent = 0;
    std::string_view path;  // from the root; of equal scopes in different spelling ("a/b", "a//b", "a.b") the first
    size_t label = 0;       // where the node's own part of the path begins
  };
  // With `dots` a '.' separates scopes as a '/' does.
  explicit ScopeTree(bool dots) : dots_(dots), nodes_(1) {}

  // The node of a scope such as "/encoder/layer.0/attention", or with dots "Net.encoder.0". Empty parts count for nothing. Nodes keep their
  // numbers; one that is made later may come between two others.
  uint32_t add(std::string_view scope);
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  struct Step {
    uint32_t node;
    std::string_view part;
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct StepHash {
    size_t operator()(const Step& step) const;
  };
  [[nodiscard]] std::string_view part_after(std::string_view path, size_t from) const;
  uint32_t split(uint32_t node, size_t end, std::string_view rest);

  bool dots_;
  std::vector<Node> nodes_;
  std::unordered_map<Step, uint32_t, StepHash> children_;  // by the first part of their label
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_SCOPE_TREE_H_
