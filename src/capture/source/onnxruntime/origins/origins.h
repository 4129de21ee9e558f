// Finds which of the author's nodes an executed node implements. Many-to-many: fusion joins nodes, the optimiser copies and moves others,
// and adds new ones.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_ORIGINS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_ORIGINS_H_

#include <vector>

#include "source/onnxruntime/model/lower_levels.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

struct NodeOrigin {
  // The nodes of the author's model that the executed node implements. The last one makes the value of the executed node's first output,
  // except for layout and floating type. Empty = none, or not known for certain.
  std::vector<const Node*> nodes;
  const Node* last = nullptr;  // the last, or the node before it when that only hands its value on; null = none
  bool inserted = false;       // a conversion of layout or type that the runtime added
};

// Indexed by Node::index of `executed`. Nodes of nested graphs are matched when the original of their container is known.
// `between`: states of the graph between the author's and the executed one, the least optimised first.
std::vector<NodeOrigin> trace_origins(const Model& executed, const Model& author, const std::vector<const Model*>& between = {});

// Traces directly; where nodes stay unknown, traces again through the models that the runtime makes at lower levels.
std::vector<NodeOrigin> find_origins(const Model& executed, const Model& author, LowerLevels& levels);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_ORIGINS_H_
