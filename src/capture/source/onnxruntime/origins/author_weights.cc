#include "source/onnxruntime/origins/author_weights.h"

#include <utility>

namespace tensortap::onnxruntime {

std::optional<bool> AuthorWeights::hold(std::string_view name, const TensorProto& tensor) {
  if (!std::exchange(is_read_, true) && !is_ort_format(bytes_)) {
    auto model = read_model(bytes_, "the model");
    if (model.ok()) model_ = *std::move(model);
    add(model_.graph);
  }
  std::optional<bool> same;
  const auto found = weights_.find(name);
  if (found == weights_.end()) return same;
  for (const Initializer* initializer : found->second) {
    const auto weight = reader_.read(*initializer);
    if (!weight.ok()) continue;
    same =
        same.value_or(false) || (weight->element_type == tensor.element_type && weight->dims == tensor.dims && weight->raw == tensor.raw);
    reader_.release_memory(*weight);
  }
  return same;
}

void AuthorWeights::add(const Graph& graph) {
  for (const Initializer& initializer : graph.initializers) weights_[initializer.name].push_back(&initializer);
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) add(*body.graph);
  }
}

}  // namespace tensortap::onnxruntime
