// Tells the weights of one graph from those of another with the same ops.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHTS_KEY_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHTS_KEY_H_

#include <string>

#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// 16 bytes, equal for graphs whose weights have equal names, types, shapes and elements. `folder` holds weights that are in files; of
// those that cannot be read the place alone counts.
std::string weights_key(const Model& executed, const std::string& folder);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHTS_KEY_H_
