#include "layout/mindspore/tree_ops.h"

#include <algorithm>

#include "base/text.h"
#include "layout/mindspore/name_parse.h"

namespace tensortap::mindspore_tree {
namespace {

std::string stem_of(std::string_view type, std::string_view name) { return concat(type, ".", name); }

// A constant's own name: "data-1" of "Default_data-1", "Default--data-1" and "Default/data-1".
std::string_view constant_name(std::string_view full_name) {
  for (const std::string_view scope : {"Default_", "Default--", "Default/"}) {
    if (full_name.starts_with(scope)) return full_name.substr(scope.size());
  }
  return full_name;
}

}  // namespace

const DumpGraph* TreeOps::graph_files(const LeafFolder& folder) {
  if (folder.rank_path.empty()) return nullptr;
  auto rank = ranks_.find(folder.rank_path);
  if (rank == ranks_.end()) rank = ranks_.emplace(folder.rank_path, read_dump_graphs(folder.rank_path, problems_)).first;
  const auto found = rank->second.find(folder.graph);
  return found == rank->second.end() ? nullptr : &found->second;
}

size_t TreeOps::graph_of(const LeafFolder& folder) {
  const auto [at, added] = numbers_.try_emplace({folder.rank, folder.net, folder.graph}, graphs_.size());
  if (added) {
    Graph& graph = graphs_.emplace_back();
    graph.rank = folder.rank;
    graph.net = folder.net;
    graph.number = folder.graph;
    graph.known = graph_files(folder);
  }
  return at->second;
}

OpId TreeOps::add(size_t graph, OpInfo op, uint32_t node, std::string_view type) {
  ops_.push_back(std::move(op));
  made_.push_back({graph, node, 0, 0, std::string(type)});
  return static_cast<OpId>(ops_.size() - 1);
}

OpInfo TreeOps::parameter_op(Graph& graph, std::string_view name) {
  OpInfo op;
  const GraphParameter* known = graph.known == nullptr ? nullptr : graph.known->find_parameter(name);
  op.name = known == nullptr ? std::string(name) : known->name;
  op.type = known == nullptr || known->is_weight ? kInitializerType : kInputType;
  return op;
}

OpId TreeOps::op(size_t graph_number, std::string_view type, std::string_view name, std::string_view full_name) {
  Graph& graph = graphs_[graph_number];
  std::string stem = stem_of(type, name);
  if (const auto found = graph.by_stem.find(stem); found != graph.by_stem.end()) return found->second;
  OpId id = kNoOp;
  if (type == kParameterType) {
    OpInfo made = parameter_op(graph, name);
    const std::string key = made.name;
    id = add(graph_number, std::move(made), kNoNode, type);
    graph.parameters.try_emplace(key, id);
  } else {
    OpInfo made;
    made.name = full_name.empty() ? name : full_name;
    made.type = type;
    const uint32_t node = graph.known == nullptr ? kNoNode : graph.known->find_node(name);
    if (node != kNoNode) {
      const GraphNode& known = graph.known->nodes()[node];
      // The scope is the graph's, the number the file's: that is the one that people and configurations select by.
      const NumberedName file = split_op_number(name);
      const NumberedName whole = split_op_number(known.full_name);
      made.name = file.number.empty() ? known.full_name : concat(whole.name, "-op", file.number);
      made.source_location = known.source_location;
    }
    id = add(graph_number, std::move(made), node, type);
    if (node != kNoNode) graph.by_node.try_emplace(node, id);
  }
  graph.by_stem.emplace(std::move(stem), id);
  return id;
}

void TreeOps::saw_output(OpId op, uint32_t slot) {
  ++made_[op].records;
  made_[op].outputs = std::max(made_[op].outputs, slot + 1);
}

OpInput TreeOps::input_of(size_t graph_number, const NodeInput& input) {
  OpInput result;
  if (input.node == kNoNode) {
    result.name = constant_name(input.name);
    Graph& graph = graphs_[graph_number];
    if (!graph.parameters.contains(result.name) && graph.known->find_parameter(input.name) != nullptr) {
      const OpId id = add(graph_number, parameter_op(graph, input.name), kNoNode, kParameterType);
      graph.parameters.emplace(ops_[id].name, id);
    }
    const auto found = graph.parameters.find(result.name);
    if (found != graph.parameters.end()) result.producer = found->second;
    return result;
  }
  auto found = graphs_[graph_number].by_node.find(input.node);
  if (found == graphs_[graph_number].by_node.end()) {
    const GraphNode& node = graphs_[graph_number].known->nodes()[input.node];
    OpInfo made;
    made.name = node.full_name;
    made.type = node.type;
    made.source_location = node.source_location;
    const OpId id = add(graph_number, std::move(made), input.node, node.type);
    found = graphs_[graph_number].by_node.emplace(input.node, id).first;
  }
  result.producer = found->second;
  result.producer_slot = input.slot;
  made_[found->second].outputs = std::max(made_[found->second].outputs, input.slot + 1);
  return result;
}

void TreeOps::link(OpId id) {
  const Made made = made_[id];
  if (made.node == kNoNode) return;
  std::vector<OpInput> inputs;
  for (const NodeInput& input : graphs_[made.graph].known->nodes()[made.node].inputs) inputs.push_back(input_of(made.graph, input));
  ops_[id].inputs = std::move(inputs);
}

void TreeOps::name_outputs() {
  // A file name may claim any slot, so only as many are named as there can be gaps between those that are there.
  constexpr size_t kSlack = 16;
  constexpr size_t kGap = 4;
  for (OpId id = 0; id < ops_.size(); ++id) {
    OpInfo& op = ops_[id];
    if (op.type == kInputType || op.type == kInitializerType) {
      op.outputs = {op.name};
      continue;
    }
    const size_t count = std::min<size_t>(made_[id].outputs, made_[id].records * kGap + kSlack);
    for (size_t slot = 0; slot < count; ++slot) op.outputs.push_back(concat(op.name, ":", slot));
  }
  for (OpInfo& op : ops_) {
    for (OpInput& input : op.inputs) {
      if (input.producer == kNoOp) continue;
      const OpInfo& producer = ops_[input.producer];
      input.name = input.producer_slot < producer.outputs.size() ? producer.outputs[input.producer_slot] : producer.name;
    }
  }
}

// What tells graphs apart that ops of one name are in: as much of their folders as differs in this tree.
std::string TreeOps::folder_of(const Graph& graph, bool with_rank) const {
  const auto differs = [&](auto member) {
    return std::ranges::any_of(graphs_, [&](const Graph& other) { return other.*member != graphs_[0].*member; });
  };
  std::string folder;
  if (with_rank && differs(&Graph::rank)) folder += concat("rank_", graph.rank, "/");
  if (differs(&Graph::net)) folder += concat(graph.net, "/");
  if (differs(&Graph::number)) folder += concat(graph.number, "/");
  return folder;
}

void TreeOps::make_unique() {
  std::vector<std::string> folders;
  std::vector<std::string> graphs;
  for (const Graph& graph : graphs_) {
    folders.push_back(folder_of(graph, true));
    graphs.push_back(folder_of(graph, false));
    if (!graphs.back().empty()) graphs.back().pop_back();
  }
  std::unordered_set<std::string> used;
  std::unordered_map<std::string, size_t> copies;
  for (OpId id = 0; id < ops_.size(); ++id) {
    OpInfo& op = ops_[id];
    const Made& made = made_[id];
    op.graph = graphs[made.graph];
    if (used.insert(op.name).second) continue;
    const std::string name = op.name;
    op.name = concat(folders[made.graph], name);
    while (op.name == name || !used.insert(op.name).second) {
      const size_t count = ++copies[name];
      op.name = concat(folders[made.graph], made.type, ".", name, count == 1 ? "" : concat("~", count));
    }
  }
}

std::vector<OpInfo> TreeOps::take() {
  for (OpId id = 0; id < ops_.size(); ++id) link(id);
  make_unique();
  name_outputs();
  return std::move(ops_);
}

}  // namespace tensortap::mindspore_tree
