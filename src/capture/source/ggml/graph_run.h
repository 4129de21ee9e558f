// One computation of a graph under capture, by the scheduler or the backend that the program gave it to.

#ifndef TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_
#define TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_

#include <tensortap/ggml.h>

#include <cstddef>
#include <vector>

#include "source/ggml/ggml_library.h"
#include "source/ggml/graph_report.h"

namespace tensortap::ggml {

// ggml's function itself, for the graph of the call or a part of it.
int compute_really(const tensortap_ggml_call& call, void* graph);

// Sets itself as the callback of the scheduler, and sets the program's own one again when it is destroyed. That one is asked and told as if
// it were alone. Of one thread, that of the computation.
class SchedulerRun {
 public:
  SchedulerRun(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes, GraphReport& report, void* scheduler, OwnCallback own);
  ~SchedulerRun();
  SchedulerRun(const SchedulerRun&) = delete;
  SchedulerRun& operator=(const SchedulerRun&) = delete;

 private:
  static bool on_node(void* tensor, bool ask, void* user);
  bool is_asked(const void* tensor);
  bool is_computed(const void* tensor);
  bool wants(const void* tensor);

  const GgmlLibrary& library_;
  const std::vector<GgmlTensor>& nodes_;
  GraphReport& report_;
  void* const scheduler_;
  const OwnCallback own_;
  size_t next_ = 0;         // the node that is asked about next
  size_t asked_ = 0;        // of the last one that was wanted
  bool own_wants_ = false;  // of the node that was asked about last, so the following
  bool we_want_ = false;
};

// Computes a graph without a scheduler, as one would: in pieces that end behind the nodes that are wanted, for memory of a node may be used
// again by a later one. Returns what the first piece that fails does, otherwise what the last one does. `nodes` are all of the graph, and
// the copy cuts graphs.
int compute_in_pieces(const GgmlLibrary& library, const tensortap_ggml_call& call, size_t nodes, GraphReport& report);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_RUN_H_
