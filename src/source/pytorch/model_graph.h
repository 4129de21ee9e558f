// Compiled graphs that have sessions of their own: whoever runs them names their ops, and each call of one is a step of it.

#ifndef TENSORTAP_SOURCE_PYTORCH_MODEL_GRAPH_H_
#define TENSORTAP_SOURCE_PYTORCH_MODEL_GRAPH_H_

#include "source/pytorch/model_events.h"

namespace tensortap::pytorch {

// What Python's side reports of such graphs. Constant. The adapter must be loaded.
const ModelEvents& model_events();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MODEL_GRAPH_H_
