// Tensor files of any format: read by what they hold, and one npy written.

#ifndef TENSORTAP_READ_TENSOR_FILE_H_
#define TENSORTAP_READ_TENSOR_FILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "format/format.h"

namespace tensortap {

// The tensors borrow from the map: move the whole, never a part.
struct TensorFile {
  MappedFile map;
  std::vector<NamedTensor> tensors;
  std::string_view format;  // "npy"
  TensorGroup group = TensorGroup::kNone;
};

// Every tensor of a file, whose format is recognised by its first bytes, else by its extension. Errors name the path.
Result<TensorFile> read_tensor_file(const std::string& path);

// Also reads files that hold a sequence, an optional or a map: `group` is the one, and the tensors are its parts.
Result<TensorFile> read_value_file(const std::string& path);

// The tensors that a file describes, whether it has their values or not. They borrow from the map: move the whole, never a part.
struct DescribedFile {
  MappedFile map;
  std::vector<DescribedTensor> tensors;
  std::string_view format;
};

// The format of a file, by its first bytes, else by its extension; null for no file, and for one of no known format.
const Format* format_of_file(const std::string& path);

// Errors name the path.
Result<DescribedFile> describe_tensor_file(const std::string& path);

// Saves a contiguous tensor for np.load: types NumPy has no name for as raw bits, narrow ones as packed bytes, strings as '<U'
// (kUnsupported when they are not UTF-8 or end in a zero). Atomic.
Status save_npy(const std::string& path, const TensorView& view);

}  // namespace tensortap

#endif  // TENSORTAP_READ_TENSOR_FILE_H_
