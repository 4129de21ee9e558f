// Which values of a model are tensors and which are sequences, optionals or maps. The optimised model states no types for
// inner values, so kinds follow from the operator types and the graph's interface.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_VALUE_KINDS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_VALUE_KINDS_H_

#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// Fills Node::input_kinds and output_kinds of every node, nested ones included.
void track_value_kinds(Model& model);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_VALUE_KINDS_H_
