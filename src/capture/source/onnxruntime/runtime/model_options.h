// How a model is opened for capture.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_MODEL_OPTIONS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_MODEL_OPTIONS_H_

#include <cstdint>
#include <string>

#include "source/onnxruntime/runtime/inference_session.h"

namespace tensortap::onnxruntime {

struct ModelOptions {
  std::string path;
  int32_t level = abi::kOptimizeAll;
  int threads = 0;
  bool as_written = false;  // the author's own graph instead of the optimised one
  SessionExtras extras = {};
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_MODEL_OPTIONS_H_
