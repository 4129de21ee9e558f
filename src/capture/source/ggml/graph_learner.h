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
    std::string module;
  };

  void find_states();
  [[nodiscard]] std::string name_of(size_t place) const;
  void learn_node(size_t place, PlannedNode& planned);
  Read reads_of(GgmlTensor node, PlannedNode& planned);
  KnownOp source_of(GgmlTensor source, size_t index, PlannedNode& planned);
  KnownOp weight(GgmlTensor leaf);
  KnownOp input(GgmlTensor leaf, size_t index, PlannedNode& planned);
  void send_weight(GgmlTensor leaf, const KnownOp& op);
  [[nodiscard]] std::string graph_of(std::string_view name) const;

  ModelCapture& model_;
  const std::vector<GgmlTensor>& nodes_;
  const std::string graph_;                              // of ops that have only a number for a name
  std::unordered_map<const void*, KnownOp> writers_;     // by the tensor whose memory they wrote
  std::map<std::string, KnownOp, std::less<>> by_name_;  // the last op of each name
  std::map<std::string, uint32_t, std::less<>> counts_;  // of nodes of a name
  std::set<const void*> states_;                         // tensors that the graph got and writes into
  std::unordered_map<const void*, size_t> inputs_;       // their numbers
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_LEARNER_H_
