// One graph of a model, as the search for origins asks about it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_GRAPH_VIEW_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_GRAPH_VIEW_H_

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// Whether a node only moves the elements of its first input, all of them: Reshape, Transpose and similar nodes. With `of_runtime`, the
// runtime's own conversions of floating types or blocks of channels also count.
bool keeps_elements(const Node& node, bool of_runtime);

// Borrows the graph and the view of the graph around it. Immutable.
class GraphView {
 public:
  GraphView(const Graph& graph, const GraphView* outer);
  GraphView(const GraphView&) = delete;
  GraphView& operator=(const GraphView&) = delete;
  ~GraphView() = default;

  struct Reader {
    const Node* node = nullptr;
    size_t slot = 0;
  };

  [[nodiscard]] const Graph& graph() const { return graph_; }
  // Null for inputs, weights and values of other graphs.
  [[nodiscard]] const Node* producer(std::string_view value) const;
  // The nodes that name the value as their input; nodes whose nested graphs read it are not in the list.
  [[nodiscard]] std::span<const Reader> readers(std::string_view value) const;
  // Null when no node has both, or several have.
  [[nodiscard]] const Node* named(std::string_view name, std::string_view type) const;
  [[nodiscard]] bool has_named(std::string_view name, std::string_view type) const { return by_name_.contains({name, type}); }
  [[nodiscard]] bool is_input(std::string_view value) const { return inputs_.contains(value); }
  // Weights and values computed from them alone; also the name of an input that is left out.
  [[nodiscard]] bool is_constant(std::string_view value) const;
  // The value with the same elements that only Reshapes, Transposes and similar nodes follow; the value itself where there is none.
  [[nodiscard]] std::string_view elements_of(std::string_view value) const;
  // All values with these elements; empty for values of other graphs.
  [[nodiscard]] std::span<const std::string_view> with_elements(std::string_view elements) const;
  // A node's inputs, then the values that its nested graphs read from this graph and those around it.
  [[nodiscard]] std::span<const std::string_view> inputs_of(const Node& node) const;

 private:
  void add_node(const Node& node);

  const Graph& graph_;
  const GraphView* outer_;
  std::unordered_set<std::string_view> inputs_;
  std::unordered_set<std::string_view> constants_;
  std::unordered_map<std::string_view, const Node*> producers_;
  std::unordered_map<std::string_view, std::vector<Reader>> readers_;
  std::map<std::pair<std::string_view, std::string_view>, const Node*> by_name_;
  std::unordered_map<std::string_view, std::string_view> elements_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> with_elements_;
  std::unordered_map<const Node*, std::vector<std::string_view>> nested_inputs_;  // of nodes with nested graphs
};

// The views of a model's graphs, nested ones included. Borrows the model.
class ModelViews {
 public:
  explicit ModelViews(const Model& model) { add(model.graph, nullptr); }
  [[nodiscard]] const GraphView& of(const Graph& graph) const { return *views_.at(&graph); }

 private:
  void add(const Graph& graph, const GraphView* outer);
  std::unordered_map<const Graph*, std::unique_ptr<GraphView>> views_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_GRAPH_VIEW_H_
