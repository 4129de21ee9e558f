// Compiled graphs with separate sessions. The code that runs a graph names its ops, and each call of the graph is a step.

#ifndef TENSORTAP_SOURCE_PYTORCH_GRAPHS_MODEL_GRAPH_H_
#define TENSORTAP_SOURCE_PYTORCH_GRAPHS_MODEL_GRAPH_H_

#include "source/pytorch/identity/model_events.h"

namespace tensortap::pytorch {

// The functions by which the Python side reports such graphs. Constant. The adapter must be loaded.
const ModelEvents& model_events();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_GRAPHS_MODEL_GRAPH_H_
