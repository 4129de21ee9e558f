// Who makes and who reads the values of a graph, for the two files that describe it.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_VALUES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_VALUES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "system/mindspore/tree/graph_description.h"

namespace tensortap::mindspore {

// Positions in a list of GraphOps.
struct GraphValues {
  std::vector<size_t> parameters;  // inputs and weights
  std::vector<size_t> nodes;       // ops that run, in order
  std::vector<bool> is_read;       // by position: whether some op reads an output of it
};
GraphValues graph_values(std::span<const GraphOp> ops);

// The type of an output as far as it was seen; dtype kUndefined when it was not.
TensorDesc seen_output(const GraphOp& op, size_t slot);
// How many outputs the op has: as many as were seen or are named, at least one.
size_t output_count(const GraphOp& op);
// The op that makes a value; null for none and for positions out of range.
const GraphOp* producer_of(std::span<const GraphOp> ops, const GraphValue& value);
// Whether a node of the author's is the op itself and tells nothing more about it.
bool is_itself(const OriginalNode& original, const OpInfo& op);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_GRAPH_VALUES_H_
