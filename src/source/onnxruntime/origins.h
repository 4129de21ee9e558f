// Which of the author's nodes does an executed node stand for? Many-to-many: fusion joins nodes, the optimiser copies and moves others,
// and some nodes it makes itself.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_

#include <string>
#include <vector>

#include "source/onnxruntime/onnx_model.h"

namespace tensortap::onnxruntime {

struct NodeOrigin {
  std::vector<const Node*> nodes;  // of the author's model, in its order; empty = inserted by the runtime
  const Node* last = nullptr;      // the one that makes the executed node's first output; null = none
};

// Indexed by Node::index of `executed`. Nodes of nested graphs are matched when their container's output is the author's, too.
std::vector<NodeOrigin> trace_origins(const Model& executed, const Model& author);

// The same through a model between the two: `executed` is `middle` with blocked convolutions, `middle` is `author` fused.
std::vector<NodeOrigin> trace_origins_through(const Model& executed, const Model& middle, const Model& author);

// Whether a model has convolutions with blocked channels, whose outputs have invented names.
bool has_blocked_convolutions(const Model& model);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_
