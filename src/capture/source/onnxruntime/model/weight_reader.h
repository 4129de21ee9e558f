// Reads the values of a model's weights, in its bytes or in files beside it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHT_READER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHT_READER_H_

#include <map>
#include <string>
#include <utility>

#include "base/files.h"
#include "format/onnx_tensor/tensor_proto.h"
#include "source/onnxruntime/model/blocked_graph.h"
#include "source/onnxruntime/model/onnx_model.h"

namespace tensortap::onnxruntime {

// Keeps the files mapped. Not thread-safe.
class WeightReader {
 public:
  // `folder`: names of files are relative to it.
  explicit WeightReader(std::string folder) : folder_(std::move(folder)) {}

  // The result's `raw` or `strings` hold the values, also those stored in a file. They live until the next call or the end of the reader or
  // of the model, whichever comes first. Errors: those of read_tensor_proto() and of opening the file.
  Result<TensorProto> read(const Initializer& initializer);
  // Releases the memory that reading a tensor's values took. Only values in a file take any.
  void release_memory(const TensorProto& tensor) const;

 private:
  Status read_outside(TensorProto& tensor);
  std::string folder_;
  std::string storage_;
  std::map<std::string, MappedFile, std::less<>> maps_;
};

// Puts a weight of the executed graph back into the order that it had before the runtime put it into blocks of `block` channels: `tensor`
// becomes a view of `memory`. Errors: kUnsupported when it is in another order.
Status put_in_order(const BlockedWeight& weight, uint32_t block, std::string& memory, TensorProto& tensor);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_WEIGHT_READER_H_
