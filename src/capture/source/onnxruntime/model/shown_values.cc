#include "source/onnxruntime/model/shown_values.h"

#include <algorithm>

namespace tensortap::onnxruntime {

ShownReads::ShownReads(const Model& model, const TypeRemedies& remedies) : remedies_(&remedies) {
  collect(model.graph);
  find_kept(model.graph);
}

void ShownReads::collect(const Graph& graph) {
  for (const Initializer& initializer : graph.initializers) weights_.insert(initializer.name);
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) collect(*body.graph);
  }
}

void ShownReads::find_kept(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) find_kept(*body.graph);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!shows(node, i)) kept_.insert(node.inputs[i]);
    }
  }
}

bool ShownReads::has_tap(const Node& node) const {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || node.output_kinds[i] != ValueKind::kTensor) continue;
    const auto remedy = remedies_->find(node.outputs[i]);
    if (remedy == remedies_->end() || remedy->second.cast_to != 0) return true;
  }
  return false;
}

// A weight as an input of a tap would keep the runtime from letting go of what it has packed.
bool ShownReads::shows(const Node& node, size_t input) const {
  const std::string_view value = node.inputs[input];
  return !value.empty() && node.input_kinds[input] == ValueKind::kTensor && !weights_.contains(value) &&
         remedies_->find(value) == remedies_->end() && has_tap(node);
}

std::vector<uint32_t> ShownReads::of(const Node& node) const {
  std::vector<uint32_t> inputs;
  if (remedies_ == nullptr) return inputs;
  for (uint32_t i = 0; i < node.inputs.size(); ++i) {
    const bool again = std::find(node.inputs.begin(), node.inputs.begin() + i, node.inputs[i]) != node.inputs.begin() + i;
    if (!again && shows(node, i)) inputs.push_back(i);
  }
  return inputs;
}

}  // namespace tensortap::onnxruntime
