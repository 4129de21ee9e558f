// Which of the author's nodes does an executed node implement? Many-to-many: fusion joins nodes, the optimiser copies and moves others,
// and some nodes it makes itself.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/onnx_model.h"

namespace tensortap::onnxruntime {

struct NodeOrigin {
  // Of the author's model: what the executed node implements. The last makes what the executed node's first output holds, except for layout
  // and floating type. Empty = none or not known for certain.
  std::vector<const Node*> nodes;
  const Node* last = nullptr;  // the last, or the node before it when that only hands its value on; null = none
  bool inserted = false;       // a conversion of layout or type that the runtime added
};

// Indexed by Node::index of `executed`. Nodes of nested graphs are matched when it is known what their container was.
// `between`: states of the graph between the author's and the executed one, the least optimised first.
std::vector<NodeOrigin> trace_origins(const Model& executed, const Model& author, const std::vector<const Model*>& between = {});

// Gives the graph that the runtime makes of the model at a level, as ONNX.
using OptimiseTo = std::function<Result<std::string>(int32_t level)>;

// Traces directly; where nodes stay unknown, again through what the runtime makes of the model at lower levels, as far as `level` (below
// zero: not known) is above them. Those loads take place only then. What fails there leaves unknown what was.
std::vector<NodeOrigin> find_origins(const Model& executed, const Model& author, int32_t level, const OptimiseTo& optimise);

// Whether a model has convolutions with blocked channels, whose outputs have invented names.
bool has_blocked_convolutions(const Model& model);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_H_
