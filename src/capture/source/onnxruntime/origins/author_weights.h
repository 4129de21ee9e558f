// The weights of the author's model, for comparing them with weights that the runtime has reordered.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_AUTHOR_WEIGHTS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_AUTHOR_WEIGHTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/model/weight_reader.h"

namespace tensortap::onnxruntime {

// Reads the model when it is first asked. Not thread-safe.
class AuthorWeights {
 public:
  // `model`: the author's ONNX, borrowed; a model in another format has no weights here. `folder` holds weights that are in files.
  AuthorWeights(std::string_view model, const std::string& folder) : bytes_(model), reader_(folder) {}

  // Whether a weight of this name has these bits, type and shape. Nothing when the author has none of this name that can be read.
  std::optional<bool> hold(std::string_view name, const TensorProto& tensor);

 private:
  void add(const Graph& graph);

  std::string_view bytes_;
  bool is_read_ = false;
  Model model_;
  WeightReader reader_;
  std::unordered_map<std::string_view, std::vector<const Initializer*>> weights_;  // those of nested graphs may share a name
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_AUTHOR_WEIGHTS_H_
