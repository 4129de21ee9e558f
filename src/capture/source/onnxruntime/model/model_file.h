// The model as its author wrote it, and the graph that ONNX Runtime makes of it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_FILE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "source/onnxruntime/model/pass_files.h"
#include "source/onnxruntime/runtime/inference_session.h"
#include "source/onnxruntime/runtime/runtime_library.h"

namespace tensortap::onnxruntime {

// A model file, mapped. Immutable.
class ModelFile {
 public:
  // Errors: kNotFound, kCorrupt when it is neither ONNX nor ".ort".
  static Result<ModelFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view bytes() const { return map_.text(); }
  [[nodiscard]] bool is_ort_format() const { return is_ort_format_; }
  [[nodiscard]] std::string folder() const;  // absolute
  // Gives back the memory that reading bytes() took; they can be read again.
  void release_memory() const;

 private:
  std::string path_;
  MappedFile map_;
  bool is_ort_format_ = false;
};

struct OptimizeOptions {
  int32_t level = abi::kOptimizeAll;
  int threads = 0;
  SessionExtras extras = {};
  PassWeights weights = PassWeights::kInside;
};

// Lets the runtime optimise a model and write down what it would run. Its external folder is never "". Weights that do not fit inside go
// apart whatever the options say. Errors: kInvalidArgument with the runtime's message.
Result<OptimizedModel> optimize_model(const std::shared_ptr<const RuntimeLibrary>& library, const ModelFile& file,
                                      const OptimizeOptions& options);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_MODEL_FILE_H_
