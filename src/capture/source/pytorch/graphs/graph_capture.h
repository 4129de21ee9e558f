// From the dump nodes of compiled graphs to events of a session.

#ifndef TENSORTAP_SOURCE_PYTORCH_GRAPHS_GRAPH_CAPTURE_H_
#define TENSORTAP_SOURCE_PYTORCH_GRAPHS_GRAPH_CAPTURE_H_

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/session/torch_session.h"

namespace tensortap::pytorch {

// What Python's side reports of compiled graphs. Constant.
const GraphEvents& graph_events();

// The number of a node's operator in the table, described first if it is new.
uint32_t operator_of(TorchRuntime& runtime, const GraphNode& told);

// tensortap_torch_tracker.dump_node: an execution of the op that the site belongs to, if the session wants it. Where the site's node has an
// owner the session is that one, and otherwise the capture's.
void dump_graph_node(int64_t site, const tensortap_torch_tensor* tensors, uint32_t count);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_GRAPHS_GRAPH_CAPTURE_H_
