// Inputs as a caller gave them, checked against the model and made into values of the runtime.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CALLER_INPUTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CALLER_INPUTS_H_

#include <memory>
#include <span>
#include <string>

#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/runtime/ort_value.h"
#include "source/onnxruntime/runtime/runtime_library.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// "float32 [N, 3, 224, 224]", "sequence of float32 of any shape".
std::string type_text(const ValueInfo& info);

// Errors: kInvalidArgument with what the model expects, when a tensor has another type or shape.
Status check_tensor(const ValueInfo& info, const tensortap_tensor& tensor);

// The value of one input out of its parts: a tensor, or what a sequence, an optional or a map consists of. Null for an optional without a
// value: such an input is left out of the run. Errors: kInvalidArgument with the expected type,
// kUnsupported for kinds of value that cannot be given.
Result<OwnedValue> make_given_value(const std::shared_ptr<const RuntimeLibrary>& library, const ValueInfo& info,
                                    std::span<const tensortap_onnxruntime_input> parts);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_CALLER_INPUTS_H_
