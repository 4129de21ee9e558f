// The session options of a program, and what of them cannot be asked from the runtime.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_OPTIONS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_OPTIONS_H_

#include <mutex>
#include <set>
#include <string>

#include "source/onnxruntime/model/pass_files.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// Options of the program that have one property. Thread-safe.
class MarkedOptions {
 public:
  void set(const abi::SessionOptions* options, bool has_it);
  void copy(const abi::SessionOptions* from, const abi::SessionOptions* to);
  [[nodiscard]] bool has(const abi::SessionOptions* options) const;

 private:
  mutable std::mutex mutex_;
  std::set<const abi::SessionOptions*> options_;
};

// A copy of the program's options (null = the runtime's defaults) for a session that writes the optimised model to `files` as ONNX and is
// thrown away. `level` kProgramLevel (foreign_session.h) = as the program set it. It logs as the program asked where it `speaks`, otherwise
// nothing.
Result<Owned<abi::SessionOptions>> options_for_pass(const Api& api, const abi::SessionOptions* program, int32_t level,
                                                    const PassFiles& files, bool speaks);

// null = the runtime's defaults
Result<Owned<abi::SessionOptions>> copy_options(const Api& api, const abi::SessionOptions* program);

// A copy for the session that the program gets, of a graph that is optimised and has taps. `weights_folder` "" = none.
Result<Owned<abi::SessionOptions>> options_for_taps(const Api& api, const abi::SessionOptions* program, const std::string& weights_folder,
                                                    abi::CustomOpDomain* taps);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_PROGRAM_OPTIONS_H_
