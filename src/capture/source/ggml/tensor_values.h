// The elements of ggml's tensors as the capture takes them.

#ifndef TENSORTAP_SOURCE_GGML_TENSOR_VALUES_H_
#define TENSORTAP_SOURCE_GGML_TENSOR_VALUES_H_

#include <tensortap/capture.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "source/ggml/ggml_library.h"

namespace tensortap::ggml {

// A type of elements of one copy of ggml.
struct ElementType {
  std::string name;                      // "f32", "q4_0"
  uint32_t dtype = TENSORTAP_UNDEFINED;  // of the elements, or of what blocks become
  DequantizeRow dequantize = nullptr;    // null unless the type has blocks
  size_t block_bytes = 0;                // of a block; of an element, for a type without blocks
  int64_t block_elements = 1;
};

// Memory that a description borrows from; used again for the next tensor.
struct ValueScratch {
  std::vector<std::byte> fetched;
  std::vector<std::byte> packed;
  std::array<int64_t, kMostDimensions> dims{};
  std::array<int64_t, kMostDimensions> strides{};
};

// Thread-safe. Of one copy.
class TensorValues {
 public:
  explicit TensorValues(const GgmlLibrary& library) : library_(library) {}

  // Describes the tensor with its elements: blocks as float32, memory of a device as a copy on the host. The description is valid as long
  // as the scratch is not used again. Returns why the elements cannot be had, as tensortap_not_captured() takes it, null = they can.
  // It has at least `rank` dimensions.
  const char* describe(GgmlTensor tensor, uint32_t rank, ValueScratch& scratch, tensortap_tensor& described);
  // The same for a weight whose bytes are in the scratch as a file has them (ValueScratch::fetched).
  const char* describe_fetched(GgmlTensor tensor, ValueScratch& scratch, tensortap_tensor& described);
  // For the op SET_ROWS: describes the rows that it wrote, in the shape of its input.
  const char* describe_written_rows(GgmlTensor tensor, uint32_t rank, ValueScratch& scratch, tensortap_tensor& described);

  // For the attributes of an op: the name of its type when it has blocks, otherwise "".
  std::string block_type(GgmlTensor tensor);
  // Whether the program has the tensor in an arrangement that cannot be read.
  [[nodiscard]] bool is_rearranged(GgmlTensor tensor) const;
  // The bytes that a file has for a tensor of this type and these dimensions; 0 = not known, or too many.
  uint64_t stored_bytes(GgmlTensor tensor);
  // The buffer that the tensor's memory belongs to, null = none.
  static void* buffer_of(GgmlTensor tensor);

 private:
  const ElementType& type_of(GgmlTensor tensor);
  static const char* describe_bytes(const ElementType& type, const std::byte* bytes, const std::array<int64_t, kMostDimensions>& ne,
                                    const std::array<int64_t, kMostDimensions>& nb, ValueScratch& scratch, tensortap_tensor& described);
  const char* bytes_of(GgmlTensor tensor, std::vector<std::byte>& fetched, const std::byte*& bytes) const;

  const GgmlLibrary& library_;
  std::mutex mutex_;
  std::map<int32_t, ElementType> types_;  // guarded by mutex_; entries stay
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_TENSOR_VALUES_H_
