#include "source/onnxruntime/origins.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tensortap::onnxruntime {
namespace {

using Producers = std::unordered_map<std::string_view, const Node*>;
using Names = std::unordered_set<std::string_view>;

constexpr std::string_view kBlockedSuffix = "_nchwc";
constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";
constexpr std::string_view kInlinedPrefix = "_inlfunc_";

// Conversions between plain and blocked layout are the runtime's own, although one of them makes the author's tensor.
bool is_layout_conversion(const Node& node) { return node.domain == kBlockedDomain && node.type.starts_with("Reorder"); }

// The author's tensor names that a node stands for: its outputs, or for a blocked convolution the name in the node's name.
std::vector<std::string_view> keys_of(const Node& node) {
  if (is_layout_conversion(node)) return {};
  if (node.domain == kBlockedDomain && node.name.ends_with(kBlockedSuffix))
    return {node.name.substr(0, node.name.size() - kBlockedSuffix.size())};
  std::vector<std::string_view> keys;
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) keys.push_back(output);
  }
  return keys;
}

class GraphTracer {
 public:
  explicit GraphTracer(std::vector<NodeOrigin>& origins) : origins_(origins) {}

  void trace(const Graph& executed, const Graph& author) {
    Producers producers;
    for (const Node& node : author.nodes) {
      for (const std::string_view output : node.outputs) producers.emplace(output, &node);
    }
    Names living;
    for (const Node& node : executed.nodes) {
      for (const std::string_view key : keys_of(node)) living.insert(key);
    }
    for (const Node& node : executed.nodes) {
      NodeOrigin& origin = origins_[node.index];
      const auto keys = keys_of(node);
      if (!keys.empty() && producers.contains(keys[0])) origin.last = producers.at(keys[0]);
      origin.nodes = claimed(keys, producers, living);
      if (origin.last != nullptr) nested(node, *origin.last);
    }
    give_inlined_to_consumers(executed);
  }

 private:
  // Walks the author's graph backwards from the node's tensors until tensors that still exist: what is passed is what was fused.
  static std::vector<const Node*> claimed(const std::vector<std::string_view>& keys, const Producers& producers, const Names& living) {
    std::vector<std::string_view> open(keys);
    std::vector<const Node*> nodes;
    std::unordered_set<const Node*> seen;
    const Names own(keys.begin(), keys.end());
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      const auto producer = producers.find(name);
      if (producer == producers.end() || (living.contains(name) && !own.contains(name))) continue;
      if (!seen.insert(producer->second).second) continue;
      nodes.push_back(producer->second);
      for (const std::string_view input : producer->second->inputs) open.push_back(input);
    }
    std::ranges::sort(nodes, {}, &Node::index);
    return nodes;
  }

  void nested(const Node& executed, const Node& author) {
    for (const Subgraph& body : executed.subgraphs) {
      const auto match = std::ranges::find(author.subgraphs, body.attribute, &Subgraph::attribute);
      if (match != author.subgraphs.end()) trace(*body.graph, *match->graph);
    }
  }

  // Nodes of an inlined function have invented names; they belong to the call whose result they lead to.
  void give_inlined_to_consumers(const Graph& executed) {
    std::unordered_map<std::string_view, const Node*> consumers;
    for (const Node& node : executed.nodes) {
      for (const std::string_view input : node.inputs) consumers[input] = &node;
    }
    for (auto node = executed.nodes.rbegin(); node != executed.nodes.rend(); ++node) {
      if (!origins_[node->index].nodes.empty() || node->outputs.empty() || !node->outputs[0].starts_with(kInlinedPrefix)) continue;
      const auto consumer = consumers.find(node->outputs[0]);
      if (consumer != consumers.end()) origins_[node->index].nodes = origins_[consumer->second->index].nodes;
    }
  }

  std::vector<NodeOrigin>& origins_;
};

bool has_blocked(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.domain == kBlockedDomain ||
           std::ranges::any_of(node.subgraphs, [](const Subgraph& body) { return has_blocked(*body.graph); });
  });
}

}  // namespace

std::vector<NodeOrigin> trace_origins(const Model& executed, const Model& author) {
  std::vector<NodeOrigin> origins(executed.node_count);
  GraphTracer(origins).trace(executed.graph, author.graph);
  return origins;
}

std::vector<NodeOrigin> trace_origins_through(const Model& executed, const Model& middle, const Model& author) {
  std::vector<NodeOrigin> origins = trace_origins(executed, middle);
  const std::vector<NodeOrigin> further = trace_origins(middle, author);
  for (NodeOrigin& origin : origins) {
    std::vector<const Node*> nodes;
    for (const Node* node : origin.nodes) nodes.insert(nodes.end(), further[node->index].nodes.begin(), further[node->index].nodes.end());
    std::ranges::sort(nodes, {}, &Node::index);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    origin.nodes = std::move(nodes);
    if (origin.last != nullptr) origin.last = further[origin.last->index].last;
  }
  return origins;
}

bool has_blocked_convolutions(const Model& model) { return has_blocked(model.graph); }

}  // namespace tensortap::onnxruntime
