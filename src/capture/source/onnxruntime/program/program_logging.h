// Where a program that uses the C interface has ONNX Runtime's lines go: the runtime does not tell.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_LOGGING_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_LOGGING_H_

#include <map>
#include <mutex>
#include <optional>

#include "source/onnxruntime/runtime/ort_interface.h"
#include "source/onnxruntime/taps/session_lines.h"

namespace tensortap::onnxruntime {

// Thread-safe.
class ProgramLogging {
 public:
  // The program made an environment. Those of a process share the logger of the first.
  void made(const abi::Env* environment, const LineReceiver& logger);
  // It gave options a logging function, null = the environment's again.
  void set(const abi::SessionOptions* options, const LineReceiver& function);
  void copy(const abi::SessionOptions* from, const abi::SessionOptions* to);
  // Who gets the lines of a session with these options; nothing when the environment was made in a way that we do not know.
  [[nodiscard]] std::optional<LineReceiver> receiver(const abi::Env* environment, const abi::SessionOptions* options) const;

 private:
  mutable std::mutex mutex_;
  std::map<const abi::Env*, LineReceiver> environments_;
  std::map<const abi::SessionOptions*, LineReceiver> functions_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_LOGGING_H_
