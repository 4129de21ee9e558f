// A run of a program's session through C functions, which can be made once more.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_REPEATED_RUN_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_REPEATED_RUN_H_

#include <cstddef>

#include "source/onnxruntime/program/foreign_session.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// The inputs or the binding of the program's run; borrowed for the call.
struct GivenRun {
  const abi::RunOptions* options = nullptr;
  const char* const* input_names = nullptr;
  const abi::Value* const* inputs = nullptr;
  size_t input_count = 0;
  const char* const* output_names = nullptr;
  size_t output_count = 0;
  const abi::IoBinding* binding = nullptr;

  // The run ended with this error: reports it, and repeats the run if the capture requests it (ForeignSession::AnnouncedRun). The runtime
  // reports nothing of the second run's error, and its outputs are dropped; those of a binding are written again. May throw.
  void failed(const Api& api, abi::Session* session, const abi::Status* error, ForeignSession::AnnouncedRun& run) const;

 private:
  [[nodiscard]] Status make_again(const Api& api, abi::Session* session) const;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_REPEATED_RUN_H_
