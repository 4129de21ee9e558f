// Names of what a model does in a step.

#ifndef TENSORTAP_TRACE_MODEL_PHASE_H_
#define TENSORTAP_TRACE_MODEL_PHASE_H_

#include <string_view>

#include "trace/op_info.h"

namespace tensortap {

// The phase that model_phase_name() has this name for; kNone for any other text.
inline ModelPhase model_phase_of(std::string_view name) {
  for (const ModelPhase phase : {ModelPhase::kPrefill, ModelPhase::kDecode, ModelPhase::kTrain, ModelPhase::kWarmUp}) {
    if (model_phase_name(phase) == name) return phase;
  }
  return ModelPhase::kNone;
}

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_MODEL_PHASE_H_
