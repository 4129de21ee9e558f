// What the session gets of one computation of a graph.

#ifndef TENSORTAP_SOURCE_GGML_GRAPH_REPORT_H_
#define TENSORTAP_SOURCE_GGML_GRAPH_REPORT_H_

#include <cstddef>
#include <vector>

#include "source/ggml/graph_plan.h"
#include "source/ggml/model_capture.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {

// Nodes are numbered by their places in the graph. Of one thread, that of the computation.
class GraphReport {
 public:
  GraphReport(GraphPlan& plan, const std::vector<GgmlTensor>& nodes, ComputedStep step)
      : model_(*plan.model), plan_(plan), nodes_(nodes), step_(step), sent_(plan.input_count), reached_(nodes.size()) {}

  // Before the node is computed: sends the inputs of the graph that it reads. Returns whether its value is wanted.
  bool wants(size_t node);
  // Its value, before any later node is computed.
  void send_value(size_t node);
  // The computation has ended: reports the nodes that it did not come to.
  void finish();

 private:
  void send_inputs(PlannedNode& planned, GgmlTensor node);
  void send(tensortap_op_id id, const tensortap_tensor& tensor);

  ModelCapture& model_;
  GraphPlan& plan_;
  const std::vector<GgmlTensor>& nodes_;
  const ComputedStep step_;
  std::vector<bool> sent_;     // of inputs
  std::vector<bool> reached_;  // of nodes: asked about and, if wanted, seen
  ValueScratch scratch_;
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_REPORT_H_
