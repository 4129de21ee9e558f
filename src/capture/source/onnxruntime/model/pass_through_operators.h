// Operators that make no values.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_THROUGH_OPERATORS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_THROUGH_OPERATORS_H_

#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// Whether everything in a node's outputs is an element of one of its inputs, or finite whatever they are: it makes no NaN or Inf out of
// finite values. False where that is not known.
bool makes_no_values(const Node& node);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_THROUGH_OPERATORS_H_
