// The files to which the runtime writes an optimised model, and the model that is read from them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_FILES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/size_signal.h"
#include "base/status.h"
#include "source/onnxruntime/model/scratch_folder.h"

namespace tensortap::onnxruntime {

// Where the large weights of an optimised model go.
enum class PassWeights : uint8_t {
  kInside,     // into the model's bytes
  kApart,      // to a file of a scratch folder: sessions map it, so that only the session holds the weights in memory
  kMoved,      // the same, but the runtime writes them into the model, and they are moved from there: takes more memory in the pass
  kDropped,    // nowhere: only the structure counts
  kForgotten,  // the same, but the runtime writes them into the model
};

// The next way to try when a pass with `weights` fails: the runtime cannot write every model's weights apart.
std::optional<PassWeights> instead_of(PassWeights weights);

// The graph that runs, serialised.
struct OptimizedModel {
  std::string bytes;            // ONNX
  std::string external_folder;  // weights outside of the bytes are named relative to it; "" = the author's folder
  ScratchFolder scratch;        // holds the weights that are apart; usually none
};

// The entries that a pass's session options need when weights_name() is not empty.
inline constexpr const char* kWeightsFileEntry = "session.optimized_model_external_initializers_file_name";
inline constexpr const char* kWeightsSizeEntry = "session.optimized_model_external_initializers_min_size_in_bytes";
inline constexpr const char* kLargeWeight = "16384";

// The files of one pass. While this object lives, a write of the runtime beyond the program's file size limit (ulimit -f) fails on this
// thread without a signal, because the write is ours.
class PassFiles {
 public:
  // If no scratch folder can be made, weights that should go to a separate file stay inside.
  explicit PassFiles(PassWeights weights);
  PassFiles(const PassFiles&) = delete;
  PassFiles& operator=(const PassFiles&) = delete;
  ~PassFiles();

  [[nodiscard]] std::string path() const;  // of the model, for this process alone
  // The name of the file for large weights, always the same; "" = they go inside.
  [[nodiscard]] std::string weights_name() const;
  // Reads the model that the runtime wrote. To be called once. Errors: kIo; kInternal when it wrote nothing; kUnsupported for a model whose
  // weights the runtime does not write apart as it should: one with nested graphs.
  [[nodiscard]] Result<OptimizedModel> take_model();

 private:
  [[nodiscard]] bool runtime_writes_weights() const { return weights_ == PassWeights::kApart || weights_ == PassWeights::kDropped; }
  Result<OptimizedModel> take_written_inside();

  SizeSignalBlocked blocked_;
  PassWeights weights_;
  ScratchFolder scratch_;
  int fd_ = -1;  // of a file in memory, for a model with its weights inside
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_PASS_FILES_H_
