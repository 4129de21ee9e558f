#include "source/onnxruntime/taps/executed_graph.h"

#include <malloc.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "source/onnxruntime/model/model_editor.h"
#include "source/onnxruntime/taps/external_files.h"

namespace tensortap::onnxruntime {
namespace {

std::set<std::string_view> folded_inputs(const Graph& executed, const Graph& author) {
  std::set<std::string_view> had_value;
  for (const Initializer& initializer : author.initializers) had_value.insert(initializer.name);
  for (const Initializer& initializer : executed.initializers) had_value.erase(initializer.name);
  std::set<std::string_view> folded;
  for (const ValueInfo& input : executed.inputs) {
    if (had_value.contains(input.name)) folded.insert(input.name);
  }
  return folded;
}

}  // namespace

Result<Model> read_executed_model(std::string& bytes, const Model& author) {
  TENSORTAP_ASSIGN_OR_RETURN(Model executed, read_model(bytes, "the optimised model"));
  const auto folded = folded_inputs(executed.graph, author.graph);
  if (folded.empty()) return executed;
  TENSORTAP_ASSIGN_OR_RETURN(std::string edited, without_inputs(bytes, folded));
  bytes = std::move(edited);
  return read_model(bytes, "the optimised model");
}

Status read_author(std::string_view bytes, std::string_view name, AuthorGraph& graph) {
  {
    TENSORTAP_ASSIGN_OR_RETURN(const Model whole, read_model(bytes, name));
    graph.has_weights_in_files = !external_files(whole.graph).empty();
    graph.has_nested_graphs = std::ranges::any_of(whole.graph.nodes, [](const Node& node) { return !node.subgraphs.empty(); });
  }
  TENSORTAP_ASSIGN_OR_RETURN(graph.bytes, without_weights(bytes));
  TENSORTAP_ASSIGN_OR_RETURN(graph.model, read_model(graph.bytes, name));
  return {};
}

PassWeights AuthorGraph::weights_apart() const {
  if (has_weights_in_files) return PassWeights::kInside;
  return has_nested_graphs ? PassWeights::kMoved : PassWeights::kApart;
}

PassWeights AuthorGraph::weights_dropped() const {
  return has_weights_in_files || has_nested_graphs ? PassWeights::kForgotten : PassWeights::kDropped;
}

void release_free_memory() { malloc_trim(0); }

}  // namespace tensortap::onnxruntime
