#include "source/onnxruntime/origins/value_match.h"

#include <algorithm>
#include <unordered_set>

#include "source/onnxruntime/origins/graph_matcher.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int kMostIdentities = 1000;  // in a row; more is a cycle

using NameSet = std::unordered_set<std::string_view>;

// The known values that a node is computed of, by their elements; on the way to them are nodes of which nothing is known, or that only hand
// on `own`.
NameSet read_by(const GraphMatch& match, const Node& node, std::string_view own) {
  NameSet known;
  NameSet seen;
  const auto inputs = match.later().inputs_of(node);
  std::vector<std::string_view> open(inputs.begin(), inputs.end());
  while (!open.empty()) {
    const std::string_view value = open.back();
    open.pop_back();
    if (match.later().is_constant(value) || !seen.insert(value).second) continue;
    const std::string_view elements = match.elements(value);
    if (!elements.empty() && elements != own) {
      known.insert(elements);
    } else if (const Node* producer = match.later().producer(value); producer != nullptr) {
      const auto further = match.later().inputs_of(*producer);
      open.insert(open.end(), further.begin(), further.end());
    }
  }
  return known;
}

// The node that makes a value, behind those that only hand it on.
const Node* maker_of(std::string_view value, const GraphView& graph) {
  const Node* maker = graph.producer(value);
  for (int hops = 0; maker != nullptr && maker->type == "Identity" && !maker->inputs.empty() && hops < kMostIdentities; ++hops) {
    maker = graph.producer(maker->inputs[0]);
  }
  return maker;
}

bool reads_shape_alone(const Node& node) { return node.type == "Shape" || node.type == "Size"; }

}  // namespace

std::string_view GraphMatch::elements(std::string_view value) const {
  const ValueMatch match = find(value);
  return match.value.empty() ? std::string_view() : earlier_.elements_of(match.value);
}

std::optional<std::vector<const Node*>> nodes_between(const GraphMatch& match, const Node& later, std::string_view value) {
  const GraphView& graph = match.earlier();
  NameSet unread = read_by(match, later, graph.elements_of(value));
  const NameSet read = unread;
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> passed;
  NameSet seen;
  std::vector<std::string_view> open = {value};
  while (!open.empty()) {
    const std::string_view next = open.back();
    open.pop_back();
    if (graph.is_constant(next) || !seen.insert(next).second) continue;
    const std::string_view elements = graph.elements_of(next);
    if (read.contains(elements)) {
      unread.erase(elements);
      continue;
    }
    const Node* producer = graph.producer(next);
    if (producer == nullptr) return std::nullopt;
    if (!passed.insert(producer).second) continue;
    nodes.push_back(producer);
    if (reads_shape_alone(*producer)) continue;  // which the runtime often knows beforehand
    const auto inputs = graph.inputs_of(*producer);
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  if (!unread.empty()) return std::nullopt;
  std::ranges::sort(nodes, {}, &Node::index);
  return nodes;
}

ModelMatch::ModelMatch(const Model& later, const ModelViews& later_views, const Model& earlier, const ModelViews& earlier_views)
    : later_views_(later_views), earlier_views_(earlier_views) {
  match(later.graph, earlier.graph, nullptr);
}

ModelMatch::ModelMatch(const ModelMatch& with_middle, const ModelMatch& of_middle)
    : later_views_(with_middle.later_views_), earlier_views_(of_middle.earlier_views_) {
  for (const auto& [graph, match] : with_middle.matches_) {
    if (match->is_outermost()) join(*match, of_middle, with_middle, nullptr);
  }
}

const GraphMatch* ModelMatch::of(const Graph& later) const {
  const auto entry = matches_.find(&later);
  return entry == matches_.end() ? nullptr : entry->second.get();
}

GraphMatch& ModelMatch::add(const GraphView& later, const GraphView& earlier, const GraphMatch* outer) {
  return *matches_.insert_or_assign(&later.graph(), std::make_unique<GraphMatch>(later, earlier, outer)).first->second;
}

void ModelMatch::match(const Graph& later, const Graph& earlier, const GraphMatch* outer) {
  GraphMatch& found = add(later_views_.of(later), earlier_views_.of(earlier), outer);
  match_values(found);
  for (const Node& node : later.nodes) {
    if (node.subgraphs.empty()) continue;
    const auto known = std::ranges::find_if(node.outputs, [&](auto output) { return !found.find(output).value.empty(); });
    const Node* same = known == node.outputs.end() ? nullptr : maker_of(found.find(*known).value, found.earlier());
    if (same == nullptr || same->type != node.type) continue;
    for (const Subgraph& body : node.subgraphs) {
      const auto other = std::ranges::find(same->subgraphs, body.attribute, &Subgraph::attribute);
      if (other != same->subgraphs.end()) match(*body.graph, *other->graph, &found);
    }
  }
}

void ModelMatch::join(const GraphMatch& with_middle, const ModelMatch& of_middle, const ModelMatch& all_with_middle,
                      const GraphMatch* outer) {
  const GraphMatch* middle = of_middle.of(with_middle.earlier().graph());
  if (middle == nullptr) return;
  GraphMatch& joined = add(with_middle.later(), middle->earlier(), outer);
  const auto pass_on = [&](std::string_view value) {
    const ValueMatch now = with_middle.find(value);
    if (now.value.empty()) return;
    ValueMatch before = middle->find(now.value);
    for (const std::string_view other : with_middle.earlier().with_elements(with_middle.earlier().elements_of(now.value))) {
      if (!before.value.empty()) break;
      before = {middle->find(other).value, true};
    }
    if (!before.value.empty()) joined.set(value, {before.value, before.elements_only || now.elements_only});
  };
  for (const ValueInfo& input : joined.later().graph().inputs) pass_on(input.name);
  for (const Node& node : joined.later().graph().nodes) {
    for (const std::string_view output : node.outputs) pass_on(output);
    for (const Subgraph& body : node.subgraphs) {
      const GraphMatch* nested = all_with_middle.of(*body.graph);
      if (nested != nullptr) join(*nested, of_middle, all_with_middle, &joined);
    }
  }
}

}  // namespace tensortap::onnxruntime
