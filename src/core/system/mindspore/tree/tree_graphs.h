// Facts about the ops of a dump from rank_R/graphs and rank_R/execution_order: full names with their scopes, and the producers of their
// inputs.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_GRAPHS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_GRAPHS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/problems.h"

namespace tensortap::mindspore {

inline constexpr uint32_t kNoNode = 0xffffffffU;

// One real input of a node: tuples, loads and dependencies are followed to the source of the value.
struct NodeInput {
  uint32_t node = kNoNode;
  uint32_t slot = 0;  // output of `node`
  std::string name;   // of a parameter or a constant where there is no node
};

struct GraphNode {
  std::string full_name;  // "Default/conv1-Conv2d/Conv2D-op1"
  std::string type;
  std::string source_location;  // "train.py:41"
  std::vector<NodeInput> inputs;
};

struct GraphParameter {
  std::string name;
  bool is_weight = false;
};

// One compiled graph. Immutable once read.
class DumpGraph {
 public:
  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }
  // The nodes that files may call `numberless`, cleaned or scope-stripped, without their numbers; null when there is none. In the order of
  // their numbers.
  [[nodiscard]] const std::vector<uint32_t>* find_nodes(std::string_view numberless) const;
  // The parameter that has this name in files, cleaned, with dashes or whole; null when there is none, or more than one.
  [[nodiscard]] const GraphParameter* find_parameter(std::string_view file_name) const;

  // For the readers below: builds the look-ups.
  void set(std::vector<GraphNode> nodes, std::vector<GraphParameter> parameters);

 private:
  struct Named {
    uint32_t number = 0;
    bool only = true;  // no second one of this name
  };
  using Names = std::unordered_map<std::string, Named>;
  static void name(Names& names, std::string key, uint32_t number);
  static const Named* look_up(const Names& names, std::string_view key);

  std::vector<GraphNode> nodes_;
  std::vector<GraphParameter> parameters_;
  std::unordered_map<std::string, std::vector<uint32_t>> numberless_;
  Names parameter_names_;
};

// The graphs of one rank by their number in the folders' names: from the existing .pb, .ir and .csv files, each as far as it can be read.
std::map<std::string, DumpGraph, std::less<>> read_dump_graphs(const std::string& rank_path, TreeProblems& problems);

// One .pb file's nodes and parameters, up to where it is damaged: then `damage` describes the fault.
void read_graph_message(std::string_view bytes, std::vector<GraphNode>& nodes, std::vector<GraphParameter>& parameters,
                        std::string& damage);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_GRAPHS_H_
