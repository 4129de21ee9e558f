// A model of which only the structure is wanted.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_WEIGHTLESS_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_WEIGHTLESS_MODEL_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap::onnxruntime {

// The bytes of an ONNX model with the names of the main graph's weights in the place of the weights. Errors: kCorrupt.
Result<std::string> without_weights(std::string_view bytes);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_WEIGHTLESS_MODEL_H_
