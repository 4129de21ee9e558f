// From the dump nodes of compiled graphs to events of a session.

#ifndef TENSORTAP_SOURCE_PYTORCH_GRAPH_CAPTURE_H_
#define TENSORTAP_SOURCE_PYTORCH_GRAPH_CAPTURE_H_

#include <cstdint>
#include <string_view>

#include "source/pytorch/adapter_interface.h"
#include "source/pytorch/graph_events.h"

namespace tensortap {

// What Python's side tells of compiled graphs. Constant.
const GraphEvents& graph_events();

// tensortap_torch_tracker.dump_node: an execution of the op that the site belongs to, if the session wants it.
void dump_graph_node(int64_t site, const tensortap_torch_tensor* tensors, uint32_t count);

// At the beginning of each autograd node. While a graph is traced, which runs its backward pass, the node's name is noted. `sequence_number` -1 =
// it has none.
void note_traced_node(int64_t sequence_number, std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_SOURCE_PYTORCH_GRAPH_CAPTURE_H_
