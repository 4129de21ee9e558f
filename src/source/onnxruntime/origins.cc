#include "source/onnxruntime/origins.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tensortap::onnxruntime {
namespace {

using Names = std::unordered_set<std::string_view>;

constexpr std::string_view kBlockedSuffix = "_nchwc";
constexpr std::string_view kBlockedOutput = "reorder_token_";
constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";
constexpr std::string_view kInlinedPrefix = "_inlfunc_";

// Conversions between plain and blocked layout are the runtime's own, although one of them makes the author's tensor.
bool is_layout_conversion(const Node& node) { return node.domain == kBlockedDomain && node.type.starts_with("Reorder"); }

// The nodes of a graph by what identifies them.
class NodeIndex {
 public:
  explicit NodeIndex(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (const std::string_view output : node.outputs) producers_.emplace(output, &node);
      const auto [entry, is_new] = by_name_.emplace(node.name, &node);
      if (!is_new) entry->second = nullptr;  // shared by two: identifies neither
    }
  }

  [[nodiscard]] const Node* producer(std::string_view value) const {
    const auto entry = producers_.find(value);
    return entry == producers_.end() ? nullptr : entry->second;
  }
  [[nodiscard]] const Node* named(std::string_view name) const {
    const auto entry = by_name_.find(name);
    return entry == by_name_.end() || name.empty() ? nullptr : entry->second;
  }

 private:
  std::unordered_map<std::string_view, const Node*> producers_;
  std::unordered_map<std::string_view, const Node*> by_name_;
};

// The author's tensor names that a node stands for: its outputs. Nodes that work on blocked data have invented outputs; a convolution has the
// author's tensor in its own name, others keep the name of the node that they were.
std::vector<std::string_view> keys_of(const Node& node, const NodeIndex& author) {
  if (is_layout_conversion(node)) return {};
  if (node.domain == kBlockedDomain && node.name.ends_with(kBlockedSuffix))
    return {node.name.substr(0, node.name.size() - kBlockedSuffix.size())};
  const Node* same = nullptr;
  if (!node.outputs.empty() && node.outputs[0].starts_with(kBlockedOutput)) same = author.named(node.name);
  if (same != nullptr && same->type != node.type) same = nullptr;
  std::vector<std::string_view> keys;
  for (const std::string_view output : same != nullptr ? same->outputs : node.outputs) {
    if (!output.empty()) keys.push_back(output);
  }
  return keys;
}

// Behind nodes that only pass a value on, which the optimiser drops, to the one that computes it.
const Node* behind_identities(const Node* node, const NodeIndex& author, const std::vector<const Node*>& claimed) {
  while (node != nullptr && node->type == "Identity" && !node->inputs.empty()) {
    const Node* before = author.producer(node->inputs[0]);
    if (before == nullptr || std::ranges::find(claimed, before) == claimed.end()) break;
    node = before;
  }
  return node;
}

class GraphTracer {
 public:
  explicit GraphTracer(std::vector<NodeOrigin>& origins) : origins_(origins) {}

  void trace(const Graph& executed, const Graph& author) {
    const NodeIndex index(author);
    Names living;
    for (const Node& node : executed.nodes) {
      for (const std::string_view key : keys_of(node, index)) living.insert(key);
    }
    for (const Node& node : executed.nodes) {
      NodeOrigin& origin = origins_[node.index];
      const auto keys = keys_of(node, index);
      origin.nodes = claimed(keys, index, living);
      if (!keys.empty()) origin.last = behind_identities(index.producer(keys[0]), index, origin.nodes);
      if (origin.last != nullptr) nested(node, *origin.last);
    }
    give_inlined_to_consumers(executed);
  }

 private:
  // Walks the author's graph backwards from the node's tensors until tensors that still exist: what is passed is what was fused.
  static std::vector<const Node*> claimed(const std::vector<std::string_view>& keys, const NodeIndex& index, const Names& living) {
    std::vector<std::string_view> open(keys);
    std::vector<const Node*> nodes;
    std::unordered_set<const Node*> seen;
    const Names own(keys.begin(), keys.end());
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      const Node* producer = index.producer(name);
      if (producer == nullptr || (living.contains(name) && !own.contains(name))) continue;
      if (!seen.insert(producer).second) continue;
      nodes.push_back(producer);
      for (const std::string_view input : producer->inputs) open.push_back(input);
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
