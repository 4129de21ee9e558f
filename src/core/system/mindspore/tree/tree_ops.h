// The ops of a dump: one for each "TYPE.NAME" of its files in each graph of each rank, with what the graph files know about it.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_OPS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_OPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "system/mindspore/tree/tree_graphs.h"
#include "trace/op_info.h"
#include "tree/problems.h"
#include "tree/walk.h"

namespace tensortap::mindspore {

// Filled folder by folder and record by record, then taken. Not thread-safe.
class TreeOps {
 public:
  explicit TreeOps(TreeProblems& problems) : problems_(problems) {}

  // The number of the graph that a folder belongs to, for op() below; reads the graph files of its rank the first time.
  size_t graph_of(const TreeFolder& folder);
  // The op of a file, or of a row of statistic.csv whose full name is known.
  OpId op(size_t graph, std::string_view type, std::string_view name, std::string_view full_name = {});
  [[nodiscard]] bool knows(size_t graph, std::string_view stem) const { return graphs_[graph].by_stem.contains(stem); }
  // The attributes of the op that files call "TYPE.NAME": JSON text. False when the op does not exist.
  bool set_attributes(size_t graph, std::string_view stem, std::string attributes);
  // A record of this output exists.
  void saw_output(OpId op, uint32_t slot);

  // "TYPE.NAME" of the files of each op, "" for those without.
  [[nodiscard]] std::vector<std::string> stems() const;

  // Links inputs to the ops that make them, makes names unique, and moves the ops out.
  std::vector<OpInfo> take();

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Graph {
    int32_t rank = 0;
    std::string net;
    std::string number;
    const DumpGraph* known = nullptr;
    std::unordered_map<std::string, OpId, Hash, std::equal_to<>> by_stem;
    std::unordered_map<uint32_t, OpId> by_node;
    std::unordered_map<std::string, OpId, Hash, std::equal_to<>> parameters;  // and constants
  };
  struct Made {
    size_t graph = 0;
    uint32_t node = kNoNode;
    size_t records = 0;
    uint32_t outputs = 0;  // highest slot + 1 that has a record, or that is read
    std::string type;      // as in files
    std::string name;      // as in files
    bool has_full_name = false;
  };

  const DumpGraph* graph_files(const TreeFolder& folder);
  OpId add(size_t graph, OpInfo op, uint32_t node, std::string_view type, std::string_view name = {});
  OpInfo parameter_op(Graph& graph, std::string_view name);
  void match_nodes(size_t graph, std::vector<OpId> ops);
  void set_node(OpId id, uint32_t node);
  void find_nodes();
  void link(OpId id);
  OpInput input_of(size_t graph, const NodeInput& input);
  void name_outputs();
  void make_unique();

  TreeProblems& problems_;
  std::map<std::string, std::map<std::string, DumpGraph, std::less<>>> ranks_;  // by TreeFolder::dump
  std::vector<Graph> graphs_;
  std::map<std::tuple<int32_t, std::string, std::string>, size_t> numbers_;  // of rank, net and graph
  std::vector<OpInfo> ops_;
  std::vector<Made> made_;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_TREE_OPS_H_
