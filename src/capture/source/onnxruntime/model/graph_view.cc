#include "source/onnxruntime/model/graph_view.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "source/onnxruntime/model/node_attributes.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::array<std::string_view, 6> kLayoutTypes = {"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
constexpr std::array<std::string_view, 3> kRuntimeTypes = {"MemcpyFromHost", "MemcpyToHost", "Cast"};
constexpr std::array<int64_t, 4> kFloatingTypes = {1, 10, 11, 16};  // ONNX's numbers of float, float16, double, bfloat16

bool converts_to_floating(const Node& node) {
  const Json attributes = attributes_of(node);
  const auto to = attributes.find("to");
  return to != attributes.end() &&
         std::ranges::find(kFloatingTypes, to->is_number_integer() ? to->get<int64_t>() : 0) != kFloatingTypes.end();
}

// What a graph reads of the graphs around it.
void collect_outer(const Graph& graph, std::vector<std::string_view>& outer) {
  std::unordered_set<std::string_view> own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Initializer& initializer : graph.initializers) own.insert(initializer.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string_view> read;
  for (const Node& node : graph.nodes) {
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for (const Subgraph& body : node.subgraphs) collect_outer(*body.graph, read);
  }
  for (const ValueInfo& output : graph.outputs) read.push_back(output.name);
  for (const std::string_view value : read) {
    if (!value.empty() && !own.contains(value)) outer.push_back(value);
  }
}

}  // namespace

bool keeps_elements(const Node& node, bool of_runtime) {
  if (node.inputs.empty() || node.outputs.empty()) return false;
  if (node.domain == "com.microsoft.nchwc") return of_runtime && node.type.starts_with("Reorder");
  if (!node.domain.empty()) return false;
  if (std::ranges::find(kLayoutTypes, node.type) != kLayoutTypes.end()) return true;
  if (!of_runtime || std::ranges::find(kRuntimeTypes, node.type) == kRuntimeTypes.end()) return false;
  return node.type != "Cast" || converts_to_floating(node);
}

GraphView::GraphView(const Graph& graph, const GraphView* outer) : graph_(graph), outer_(outer) {
  for (const Initializer& initializer : graph.initializers) constants_.insert(initializer.name);
  for (const ValueInfo& input : graph.inputs) {
    if (constants_.contains(input.name)) continue;  // of an old model, listed as an input too
    inputs_.insert(input.name);
    with_elements_[input.name].push_back(input.name);
  }
  for (const Node& node : graph.nodes) add_node(node);
}

void GraphView::add_node(const Node& node) {
  const bool random = node.type.starts_with("Random") || node.type == "Multinomial" || node.type == "Bernoulli";
  const bool constant =
      !random && node.subgraphs.empty() && std::ranges::all_of(node.inputs, [&](auto input) { return is_constant(input); });
  for (const std::string_view output : node.outputs) {
    if (output.empty()) continue;
    producers_.emplace(output, &node);
    if (constant) constants_.insert(output);
    const std::string_view elements = keeps_elements(node, false) && output == node.outputs[0] ? elements_of(node.inputs[0]) : output;
    if (elements != output) elements_.emplace(output, elements);
    with_elements_[elements].push_back(output);
  }
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    if (!node.inputs[slot].empty()) readers_[node.inputs[slot]].push_back({&node, slot});
  }
  const auto [named, is_new] = by_name_.emplace(std::pair(node.name, node.type), &node);
  if (!is_new) named->second = nullptr;  // shared by two: identifies neither
  if (node.subgraphs.empty()) return;
  std::vector<std::string_view>& inputs = nested_inputs_[&node];
  inputs = node.inputs;
  for (const Subgraph& body : node.subgraphs) collect_outer(*body.graph, inputs);
}

const Node* GraphView::producer(std::string_view value) const {
  const auto entry = producers_.find(value);
  return entry == producers_.end() ? nullptr : entry->second;
}

std::span<const GraphView::Reader> GraphView::readers(std::string_view value) const {
  const auto entry = readers_.find(value);
  return entry == readers_.end() ? std::span<const Reader>() : std::span<const Reader>(entry->second);
}

const Node* GraphView::named(std::string_view name, std::string_view type) const {
  const auto entry = by_name_.find({name, type});
  return entry == by_name_.end() || name.empty() ? nullptr : entry->second;
}

bool GraphView::is_constant(std::string_view value) const {
  if (value.empty() || constants_.contains(value)) return true;
  if (outer_ == nullptr || inputs_.contains(value) || producers_.contains(value)) return false;
  return outer_->is_constant(value);
}

std::string_view GraphView::elements_of(std::string_view value) const {
  const auto entry = elements_.find(value);
  if (entry != elements_.end()) return entry->second;
  return outer_ == nullptr || inputs_.contains(value) || producers_.contains(value) ? value : outer_->elements_of(value);
}

std::span<const std::string_view> GraphView::with_elements(std::string_view elements) const {
  const auto entry = with_elements_.find(elements);
  return entry == with_elements_.end() ? std::span<const std::string_view>() : std::span<const std::string_view>(entry->second);
}

std::span<const std::string_view> GraphView::inputs_of(const Node& node) const {
  const auto entry = nested_inputs_.find(&node);
  return entry == nested_inputs_.end() ? std::span<const std::string_view>(node.inputs) : std::span<const std::string_view>(entry->second);
}

void ModelViews::add(const Graph& graph, const GraphView* outer) {
  const auto entry = views_.emplace(&graph, std::make_unique<GraphView>(graph, outer)).first;
  const GraphView* view = entry->second.get();
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) add(*body.graph, view);
  }
}

}  // namespace tensortap::onnxruntime
