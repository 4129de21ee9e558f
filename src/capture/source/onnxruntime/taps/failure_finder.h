// A node that fails at run time: which one, and what it was given.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILURE_FINDER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILURE_FINDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "source/onnxruntime/taps/event_sender.h"

namespace tensortap::onnxruntime {

// What a message of the runtime says of the node that failed; empty when it names none. Views into the message.
struct NamedNode {
  std::string_view type;
  std::string_view name;
};
NamedNode node_in_message(std::string_view message);

struct FailedOp {
  uint32_t entry = kNoEntry;       // in the op table
  std::vector<OwnedValue> copies;  // inputs made by other nodes
  std::vector<ReadValue> inputs;   // as many as the node has
};

// The entry of the op that failed, by the runtime's message and the last tap that fired; kNoEntry when they do not show it.
uint32_t find_failed_op(const PreparedModel& model, const TappedSession& session, const Run& run, const std::string& message);

// Runs once more with the same inputs, keeping only what the op's producers make, until it fails again. `inputs` must outlive the result.
FailedOp collect_failed_inputs(const PreparedModel& model, const TappedSession& session, uint32_t entry,
                               const std::vector<NamedValue>& inputs);

// {"name", "type", "message", "graph", "originals", "task": its number among the nodes, "inputs": [{"name", "dtype", "shape"}],
// "outputs": the same, as far as the graph says}.
Json describe_failure(const PreparedModel& model, const FailedOp& failed, const std::string& message);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILURE_FINDER_H_
