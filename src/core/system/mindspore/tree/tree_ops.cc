#include "system/mindspore/tree/tree_ops.h"

#include <algorithm>

#include "base/text.h"
#include "system/mindspore/names.h"
#include "trace/scoped_name.h"

namespace tensortap::mindspore {
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

const DumpGraph* TreeOps::graph_files(const TreeFolder& folder) {
  if (folder.dump.empty()) return nullptr;
  auto rank = ranks_.find(folder.dump);
  if (rank == ranks_.end()) rank = ranks_.emplace(folder.dump, read_dump_graphs(folder.dump, problems_)).first;
  const auto found = rank->second.find(folder.graph);
  return found == rank->second.end() ? nullptr : &found->second;
}

size_t TreeOps::graph_of(const TreeFolder& folder) {
  const auto [at, added] = numbers_.try_emplace({folder.rank, folder.model, folder.graph}, graphs_.size());
  if (added) {
    Graph& graph = graphs_.emplace_back();
    graph.rank = folder.rank;
    graph.net = folder.model;
    graph.number = folder.graph;
    graph.known = graph_files(folder);
  }
  return at->second;
}

OpId TreeOps::add(size_t graph, OpInfo op, uint32_t node, std::string_view type, std::string_view name) {
  ops_.push_back(std::move(op));
  made_.push_back({graph, node, 0, 0, std::string(type), std::string(name), false});
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
    id = add(graph_number, std::move(made), kNoNode, type, name);
    made_[id].has_full_name = full_name.find('/') != std::string_view::npos;
  }
  graph.by_stem.emplace(std::move(stem), id);
  return id;
}

void TreeOps::set_node(OpId id, uint32_t node) {
  Graph& graph = graphs_[made_[id].graph];
  made_[id].node = node;
  graph.by_node.try_emplace(node, id);
  ops_[id].source_location = graph.known->nodes()[node].source_location;
}

// Real trees may number ops differently in the names of files and in the graph. The numbers are believed if every file has its node.
// Otherwise, if there are as many files as nodes, these are the same ops in the same order; if not, only the name is known. The scope in a
// name is the graph's, its number the file's, by which people and configurations select.
void TreeOps::match_nodes(size_t graph_number, std::vector<OpId> ops) {
  const DumpGraph& known = *graphs_[graph_number].known;
  const auto* nodes = known.find_nodes(split_op_number(made_[ops[0]].name).name);
  if (nodes == nullptr) return;
  const auto full_name = [&](uint32_t node) { return split_op_number(known.nodes()[node].full_name).name; };
  std::map<uint64_t, uint32_t> by_number;
  for (const uint32_t node : *nodes) by_number.try_emplace(op_number(known.nodes()[node].full_name), node);
  std::ranges::sort(ops, {}, [&](OpId id) { return op_number(made_[id].name); });
  const bool same_numbers = std::ranges::all_of(ops, [&](OpId id) { return by_number.contains(op_number(made_[id].name)); });
  const bool one_scope = std::ranges::all_of(*nodes, [&](uint32_t node) { return full_name(node) == full_name(nodes->front()); });
  for (size_t i = 0; i < ops.size(); ++i) {
    uint32_t node = kNoNode;
    if (same_numbers) {
      node = by_number.at(op_number(made_[ops[i]].name));
    } else if (ops.size() == nodes->size()) {
      node = (*nodes)[i];
    }
    if (node != kNoNode) set_node(ops[i], node);
    if (made_[ops[i]].has_full_name || (node == kNoNode && !one_scope)) continue;
    const std::string_view number = split_op_number(made_[ops[i]].name).number;
    ops_[ops[i]].name = concat(full_name(node == kNoNode ? nodes->front() : node), number.empty() ? "" : "-op", number);
  }
}

void TreeOps::find_nodes() {
  std::map<std::pair<size_t, std::string>, std::vector<OpId>> same;
  for (OpId id = 0; id < ops_.size(); ++id) {
    const Made& made = made_[id];
    if (made.type == kParameterType || graphs_[made.graph].known == nullptr) continue;
    same[{made.graph, std::string(split_op_number(made.name).name)}].push_back(id);
  }
  for (const auto& [key, ops] : same) match_nodes(key.first, ops);
}

bool TreeOps::set_attributes(size_t graph, std::string_view stem, std::string attributes) {
  const auto found = graphs_[graph].by_stem.find(stem);
  if (found == graphs_[graph].by_stem.end()) return false;
  ops_[found->second].attributes = std::move(attributes);
  return true;
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
  // A file name may claim any slot, so the number of named outputs is limited by the number of records.
  constexpr size_t kSlack = 16;
  constexpr size_t kGap = 4;
  for (OpId id = 0; id < ops_.size(); ++id) {
    OpInfo& op = ops_[id];
    if (is_pseudo_op(op)) {
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

// The names of ops with one name in several graphs get as much of their folders as differs in this tree.
void TreeOps::make_unique() {
  const auto differs = [&](auto member) {
    return std::ranges::any_of(graphs_, [&](const Graph& other) { return other.*member != graphs_[0].*member; });
  };
  const bool ranks = differs(&Graph::rank);
  const bool nets = differs(&Graph::net);
  const bool numbers = differs(&Graph::number);
  std::vector<std::string> folders;
  std::vector<std::string> graphs;
  for (const Graph& graph : graphs_) {
    graphs.push_back(concat(nets ? graph.net : "", nets && numbers ? "/" : "", numbers ? graph.number : ""));
    folders.push_back(concat(ranks ? concat("rank_", graph.rank, "/") : "", graphs.back(), nets || numbers ? "/" : ""));
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

std::vector<std::string> TreeOps::stems() const {
  std::vector<std::string> stems(ops_.size());
  for (const Graph& graph : graphs_) {
    for (const auto& [stem, op] : graph.by_stem) stems[op] = stem;
  }
  return stems;
}

std::vector<OpInfo> TreeOps::take() {
  find_nodes();
  for (OpId id = 0; id < ops_.size(); ++id) link(id);
  make_unique();
  name_outputs();
  return std::move(ops_);
}

}  // namespace tensortap::mindspore
