// Copies of a model's bytes in which some parts differ.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_EDITOR_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_EDITOR_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap::onnxruntime {

// Takes a weight's TensorProto and gives the one to put in its place.
using WeightEditor = std::function<Result<std::string>(std::string_view tensor)>;

// Edits every weight, those of nested graphs included. Errors: kCorrupt when this is no ONNX model; the editor's first.
Result<std::string> edit_weights(std::string_view model, const WeightEditor& edit);

// Leaves of every weight its name, its type and its shape. Errors: kCorrupt.
Result<std::string> without_weights(std::string_view model);

// Without these inputs of the main graph. Errors: kCorrupt.
Result<std::string> without_inputs(std::string_view model, const std::set<std::string_view>& names);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_EDITOR_H_
