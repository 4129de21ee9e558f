#include "source/onnxruntime/origins/origins.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/model/fusion_rules.h"
#include "source/onnxruntime/model/node_attributes.h"
#include "source/onnxruntime/origins/value_match.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {
namespace {

// Behind nodes that only pass a value on, which the optimiser drops, to the one that computes it.
const Node* behind_identities(const Node* node, const GraphView& author, const std::vector<const Node*>& nodes) {
  while (node->type == "Identity" && !node->inputs.empty()) {
    const Node* before = author.producer(node->inputs[0]);
    if (before == nullptr || std::ranges::find(nodes, before) == nodes.end()) break;
    node = before;
  }
  return node;
}

// Whether an attribute makes a product read this factor transposed.
bool reads_transposed(const Json& attributes, size_t slot) {
  constexpr std::array<std::string_view, 2> kFlags = {"trans", "transBatch"};
  return std::ranges::any_of(kFlags, [&](std::string_view flag) {
    const auto found = attributes.find(concat(flag, slot == 0 ? "A" : "B"));
    return found != attributes.end() && found->is_number() && *found != 0;
  });
}

// Adds the author's Transposes between `value` and `read`, which an author's node reads, if these lead from one to the other.
void add_transposes(const GraphView& author, std::string_view value, std::string_view read, std::vector<const Node*>& nodes) {
  std::vector<const Node*> found;
  while (read != value) {
    const Node* maker = author.producer(read);
    if (maker == nullptr || maker->type != "Transpose" || maker->inputs.empty()) return;
    found.push_back(maker);
    read = maker->inputs[0];
  }
  for (const Node* one : found) {
    if (std::ranges::find(nodes, one) == nodes.end()) nodes.push_back(one);
  }
}

// A transposition keeps the elements, so it is not between a product's inputs and its output unless the product does it itself.
void add_absorbed_transposes(const Node& node, const GraphMatch& match, std::vector<const Node*>& nodes) {
  if (node.type != "FusedMatMul" && node.type != "Gemm") return;
  const Json attributes = attributes_of(node);
  const std::vector<const Node*> makers = nodes;
  for (size_t slot = 0; slot < std::min<size_t>(node.inputs.size(), 2); ++slot) {
    const std::string_view value = match.find(node.inputs[slot]).value;
    if (value.empty() || !reads_transposed(attributes, slot)) continue;
    for (const Node* maker : makers) {
      for (const std::string_view read : maker->inputs) add_transposes(match.earlier(), value, read, nodes);
    }
  }
  std::ranges::sort(nodes, {}, &Node::index);
}

class OriginTracer {
 public:
  OriginTracer(const ModelMatch& match, std::vector<NodeOrigin>& origins) : all_(match), origins_(origins) {}

  void trace(const Graph& executed) {
    const GraphMatch* match = all_.of(executed);
    if (match == nullptr) return;
    for (const Node& node : executed.nodes) {
      origins_[node.index] = origin_of(node, *match);
      for (const Subgraph& body : node.subgraphs) trace(*body.graph);
    }
  }

 private:
  static NodeOrigin origin_of(const Node& node, const GraphMatch& match) {
    const auto output = std::ranges::find_if(node.outputs, [](auto name) { return !name.empty(); });
    if (output == node.outputs.end()) return {};
    const ValueMatch value = match.find(*output);
    const Node* maker = value.value.empty() ? nullptr : match.earlier().producer(value.value);
    // A conversion is the author's if the author has such a node here; otherwise it is the runtime's, or the author's at another place.
    const bool conversion = keeps_elements(node, true);
    if (conversion && (maker == nullptr || maker->type != node.type || value.elements_only)) return converted(node, match, *output);
    if (maker == nullptr) return {};
    return made(node, match, value.value, *maker);
  }

  static NodeOrigin converted(const Node& node, const GraphMatch& match, std::string_view output) {
    NodeOrigin origin;
    const bool authors = !node.name.empty() && match.earlier().has_named(node.name, node.type);
    const bool known =
        !match.find(output).value.empty() || match.later().is_constant(node.inputs[0]) || !match.find(node.inputs[0]).value.empty();
    origin.inserted = node.domain == kBlockedDomain || (known && !authors);
    return origin;
  }

  static NodeOrigin made(const Node& node, const GraphMatch& match, std::string_view value, const Node& maker) {
    NodeOrigin origin;
    const bool untouched = maker.name == node.name && maker.type == node.type && maker.outputs == node.outputs;
    auto nodes = nodes_between(match, node, value);
    if (nodes.has_value() && !nodes->empty()) {
      origin.nodes = *std::move(nodes);
    } else if (untouched) {
      origin.nodes = {&maker};
    } else {
      return origin;
    }
    add_absorbed_transposes(node, match, origin.nodes);
    std::erase(origin.nodes, &maker);
    origin.nodes.push_back(&maker);
    origin.last = behind_identities(&maker, match.earlier(), origin.nodes);
    return origin;
  }

  const ModelMatch& all_;
  std::vector<NodeOrigin>& origins_;
};

size_t count_unknown(const std::vector<NodeOrigin>& origins) {
  return static_cast<size_t>(
      std::ranges::count_if(origins, [](const NodeOrigin& origin) { return origin.nodes.empty() && !origin.inserted; }));
}

}  // namespace

std::vector<NodeOrigin> trace_origins(const Model& executed, const Model& author, const std::vector<const Model*>& between) {
  std::vector<NodeOrigin> origins(executed.node_count);
  const ModelViews author_views(author);
  std::vector<std::unique_ptr<ModelViews>> views;
  std::vector<std::unique_ptr<ModelMatch>> matches;  // a joined match borrows the views of those that it joins
  const Model* before = &author;
  const ModelViews* before_views = &author_views;
  for (size_t i = 0; i <= between.size(); ++i) {
    const Model& next = i < between.size() ? *between[i] : executed;
    views.push_back(std::make_unique<ModelViews>(next));
    auto step = std::make_unique<ModelMatch>(next, *views.back(), *before, *before_views);
    matches.push_back(matches.empty() ? std::move(step) : std::make_unique<ModelMatch>(*step, *matches.back()));
    before = &next;
    before_views = views.back().get();
  }
  OriginTracer(*matches.back(), origins).trace(executed.graph);
  return origins;
}

std::vector<NodeOrigin> find_origins(const Model& executed, const Model& author, LowerLevels& levels) {
  std::vector<NodeOrigin> best = trace_origins(executed, author);
  std::vector<const Model*> between;
  for (const int32_t lower : {abi::kOptimizeBasic, abi::kOptimizeExtended}) {
    const Model* state = count_unknown(best) == 0 ? nullptr : levels.at(lower);
    if (state == nullptr) break;
    between.push_back(state);
    std::vector<NodeOrigin> traced = trace_origins(executed, author, between);
    if (count_unknown(traced) <= count_unknown(best)) best = std::move(traced);
  }
  return best;
}

}  // namespace tensortap::onnxruntime
