// Brings the package's Python side into a program that is about to import ONNX Runtime's module.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PYTHON_START_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PYTHON_START_H_

#include <string>

namespace tensortap::onnxruntime {

// Loads the package `folder`/tensortap/_onnxruntime under a separate name and makes it capture with `library`, which is this one. Call only
// with the GIL and without a pending exception. Returns "" or the error; leaves no exception. Does nothing without an interpreter.
std::string start_python(const std::string& folder, const std::string& library);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PYTHON_START_H_
