// One computation of a graph by a scheduler under capture.

#ifndef TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_
#define TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_

#include <cstddef>
#include <vector>

#include "source/ggml/ggml_library.h"
#include "source/ggml/graph_plan.h"
#include "source/ggml/model_capture.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {

// Sets itself as the callback of the scheduler, and sets the program's own one again when it is destroyed. That one is asked and told as if
// it were alone. Of one thread, that of the computation.
class GraphRun {
 public:
  GraphRun(GraphPlan& plan, const std::vector<GgmlTensor>& nodes, ComputedStep step, void* scheduler, OwnCallback own);
  ~GraphRun();
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  // The computation has returned: reports what it did not come to.
  void finish();

 private:
  static bool on_node(void* tensor, bool ask, void* user);
  bool is_asked(const void* tensor);
  bool is_computed(const void* tensor);
  bool wants(const void* tensor);
  void capture(GgmlTensor tensor);
  void send_inputs(PlannedNode& planned, GgmlTensor node);
  void send(tensortap_op_id id, const tensortap_tensor& tensor);

  ModelCapture& model_;
  GraphPlan& plan_;
  const std::vector<GgmlTensor>& nodes_;
  const ComputedStep step_;
  void* const scheduler_;
  const OwnCallback own_;
  size_t next_ = 0;         // the node that is asked about next
  size_t asked_ = 0;        // of the last one that was wanted
  bool own_wants_ = false;  // of the node that was asked about last, so the following
  bool we_want_ = false;
  std::vector<bool> sent_;     // of inputs
  std::vector<bool> reached_;  // of nodes: asked about and, if wanted, seen
  ValueScratch scratch_;
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_
