// Does capture work with a library? A tiny built-in model, plain against tapped.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUNTIME_CHECK_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUNTIME_CHECK_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "source/onnxruntime/runtime/runtime_library.h"

namespace tensortap::onnxruntime {

// The ONNX bytes of a model with a fused pair, a nested graph and a weight.
std::string self_test_model();

// Ok when the tapped session gives the plain session's bits and every tap fired. Writes a file to a scratch folder.
Status run_self_test(const std::shared_ptr<const RuntimeLibrary>& library);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_RUNTIME_CHECK_H_
