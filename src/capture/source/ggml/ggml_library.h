// One copy of ggml in this process: its functions, and how it stores tensors and graphs.

#ifndef TENSORTAP_SOURCE_GGML_GGML_LIBRARY_H_
#define TENSORTAP_SOURCE_GGML_GGML_LIBRARY_H_

#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/ggml/ggml_functions.h"
#include "source/ggml/layout_probe.h"
#include "source/ggml/tensor_fields.h"

namespace tensortap::ggml {

// The program's own callback of a scheduler.
struct OwnCallback {
  EvalCallback function = nullptr;
  void* user = nullptr;
};

// Thread-safe. Lives as long as the process; so does the copy from then on.
class GgmlLibrary {
 public:
  // The copy that has the function at `real`; `caller` is an address of the code that called it. Null when nothing can be captured of it,
  // which one line on stderr says.
  static GgmlLibrary* of(const void* real, const void* caller);
  // In a child of fork(), before anything else here.
  static void begin_anew_after_fork();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string version() const;  // "0.26.0", "" = it does not tell
  [[nodiscard]] const GgmlFunctions& functions() const { return functions_; }
  [[nodiscard]] GgmlTensor tensor(const void* at) const { return {layout_, at}; }
  // The function that makes floats of a row of blocks of this type; null when the copy exports none.
  [[nodiscard]] DequantizeRow dequantizer(const std::string& type) const;
  // Appends the nodes of a graph in the order in which they are computed.
  void list_nodes(void* graph, std::vector<GgmlTensor>& nodes) const;
  // Whether graphs can be cut: then functions().graph_view makes a graph of some of the nodes of another.
  [[nodiscard]] bool cuts_graphs() const { return cuts_graphs_; }

  // The callback that a scheduler has. Errors: kUnsupported when its place in a scheduler of this copy cannot be found; the scheduler has
  // the callback that it had. Not while the scheduler computes.
  Result<OwnCallback> callback_of(void* scheduler);

 private:
  struct LoadedCopy;
  GgmlLibrary(const LoadedCopy& copy, TensorLayout layout, GraphLayout graphs);
  static Result<GgmlLibrary*> examine(const LoadedCopy& copy);
  Status find_callback(void* scheduler);

  const std::string path_;
  void* const handle_;
  const GgmlFunctions functions_;
  const TensorLayout layout_;
  const GraphLayout graphs_;
  const bool cuts_graphs_;
  std::mutex mutex_;
  bool callback_known_ = false;  // guarded by mutex_, so the following
  size_t function_place_ = 0;    // bytes in a scheduler
  size_t user_place_ = 0;
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GGML_LIBRARY_H_
