// Tensor files as MindSpore writes them: .npy with a header in MindSpore's form, some dtypes widened.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_NPY_TENSOR_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_NPY_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap::mindspore {

// How the file stores elements: bfloat16 as float32, types narrower than a byte as bytes, the others unchanged. DType::kUndefined for
// tensors without a file (strings and the types that NumPy cannot name).
DType stored_dtype(DType dtype);

// Appends the header: a comma after every dimension, no space between them, 1 to 64 spaces up to a multiple of 64 bytes; version 2.0 when
// it is too long for 1.0. `stored` is a stored_dtype(). No allocation when `text` has room.
void append_npy_tensor_header(DType stored, std::span<const int64_t> dims, std::string& text);

// Bytes of the file of a packed tensor of `bytes` bytes that has a stored dtype.
uint64_t npy_tensor_file_bytes(const TensorDesc& desc, uint64_t bytes);

// Writes one tensor file in one go, and again.
class NpyTensorWriter {
 public:
  // Writes the content of a file at the position of the descriptor; `view` is packed and has a stored dtype. Errors name the file by
  // `path`.
  Status write(int file, const std::string& path, const TensorView& view);
  // Size of what write() wrote last.
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }

 private:
  Status write_widened(int file, const std::string& path, const TensorView& view, DType stored);
  std::string header_;
  std::vector<std::byte> widened_;
  uint64_t file_bytes_ = 0;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_NPY_TENSOR_H_
