// Makes the ops of a dump out of the nodes of a graph.

#ifndef TENSORTAP_SOURCE_GGML_GRAPH_LEARNER_H_
#define TENSORTAP_SOURCE_GGML_GRAPH_LEARNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/ggml/graph_plan.h"
#include "source/ggml/model_capture.h"

namespace tensortap::ggml {

// For one graph of the model. An op is known by its name, which of this name it is in its graph, and what it computes. A node whose name
// is only its number is known by the graph, too. An op that reads a view reads what wrote the memory last.
class GraphLearner {
 public:
  GraphLearner(ModelCapture& model, const std::vector<GgmlTensor>& nodes, uint64_t structure);
  std::unique_ptr<GraphPlan> learn();

 private:
  using KnownOp = ModelCapture::KnownOp;
  struct Read {
    std::vector<std::string> names;
    std::vector<tensortap_op_id> producers;
    std::string weight_type;  // the type of blocks of a weight that is multiplied
  };

  struct GraphInput {
    size_t number = 0;     // among the inputs of the graph
    uint32_t of_name = 0;  // which of its name, from 1
  };

  void find_states();
  [[nodiscard]] std::string name_of(size_t place) const;
  void learn_node(size_t place, PlannedNode& planned);
  Read reads_of(GgmlTensor node, PlannedNode& planned);
  // The module of the first weight that a node reads; "" = it reads none.
  [[nodiscard]] std::string_view weight_module(GgmlTensor node) const;
  // The module of the norm that a node is, or that reads it soon; "" = none.
  [[nodiscard]] std::string_view norm_module(size_t place, bool is_norm_itself) const;
  // Where in the model a node is.
  struct Place {
    std::string layer;  // "blk.3", "" = in none
    std::string module;
  };
  [[nodiscard]] Place place_of(size_t place, const Read& read) const;
  // The last layer that an input is of; "" = none.
  [[nodiscard]] std::string layer_of_inputs(const Read& read) const;
  KnownOp source_of(GgmlTensor source, size_t index, PlannedNode& planned);
  const KnownOp& weight(GgmlTensor leaf);
  KnownOp input(GgmlTensor leaf, size_t index, PlannedNode& planned);
  void send_weight(GgmlTensor leaf, const KnownOp& op, bool from_file);
  [[nodiscard]] std::string graph_of(std::string_view name) const;

  ModelCapture& model_;
  const std::vector<GgmlTensor>& nodes_;
  const std::string graph_;                                    // of ops that have only a number for a name
  std::unordered_map<const void*, KnownOp> writers_;           // by the tensor whose memory they wrote
  std::map<std::string, KnownOp, std::less<>> by_name_;        // the last op of each name
  std::map<std::string, uint32_t, std::less<>> counts_;        // of nodes of a name
  std::unordered_map<tensortap_op_id, std::string> layers_;    // of nodes
  std::set<const void*> states_;                               // tensors that the graph got and writes into
  std::unordered_map<const void*, GraphInput> inputs_;         // by their tensors
  std::map<std::string, uint32_t, std::less<>> input_counts_;  // of inputs of a name: a model may have a mask for each kind of attention
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_LEARNER_H_
