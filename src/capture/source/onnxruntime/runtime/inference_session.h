// One InferenceSession of ONNX Runtime, made with the settings that capture needs.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_INFERENCE_SESSION_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_INFERENCE_SESSION_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/onnxruntime/runtime/ort_value.h"
#include "source/onnxruntime/runtime/runtime_library.h"

namespace tensortap::onnxruntime {

// What the user adds to every session of a model.
struct SessionExtras {
  std::vector<std::string> custom_ops;                      // libraries with custom operators
  std::vector<std::pair<std::string, std::string>> config;  // entries by their keys
};

struct SessionSettings {
  SessionExtras extras;
  int32_t level = abi::kOptimizeAll;
  int threads = 0;                                           // 0 = the runtime's default
  std::string optimized_path;                                // where the optimised model is to be written, "" = nowhere
  std::string external_folder;                               // where weights outside of the bytes lie, for sessions made from bytes
  std::string profile_prefix;                                // "" = no profile
  abi::CustomOpDomain* domain = nullptr;                     // must outlive the session
  std::vector<std::pair<const char*, std::string>> entries;  // ours; they win over the user's
};

struct NamedValue {
  std::string name;
  const abi::Value* value = nullptr;
};

// Thread-safe: any number of runs at the same time.
class InferenceSession {
 public:
  // From a file, or from bytes when `bytes` is not empty. Errors as the runtime gives them.
  static Result<std::unique_ptr<InferenceSession>> open(std::shared_ptr<const RuntimeLibrary> library, const std::string& path,
                                                        std::string_view bytes, const SessionSettings& settings);

  Result<std::vector<OwnedValue>> run(const std::vector<NamedValue>& inputs, const std::vector<std::string>& outputs) const;

  // Ends profiling and returns the path of the profile's file.
  Result<std::string> end_profiling() const;

 private:
  InferenceSession() = default;
  std::shared_ptr<const RuntimeLibrary> library_;
  Owned<abi::Session> session_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_INFERENCE_SESSION_H_
