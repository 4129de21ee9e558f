// Values of ONNX Runtime as tensors of capture.h and back, and comparing them bit for bit.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_VALUE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_VALUE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/runtime/ort_interface.h"
#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

using OwnedValue = Owned<abi::Value>;

// Memory that a view of a value needs beside the value itself. Reused, so that a steady stream of views allocates nothing.
struct TensorScratch {
  std::vector<int64_t> dims;
  std::vector<tensortap_string> strings;
  std::vector<size_t> offsets;
  std::string text;
};

// Element type (ONNX Runtime's number) and dimensions of a tensor value, valid as long as value and scratch are. Errors: the value is not a
// dense tensor.
Status view_shape(const Api& api, const abi::Value* value, TensorScratch& scratch, int32_t& type, std::span<const int64_t>& dims);

// Describes a tensor value in place: dtype, dims, data. `tensor`'s other fields are set to an unnamed output 0. Valid as long as value
// and scratch are. Errors: the value is not a dense tensor in host memory.
Status view_tensor(const Api& api, const abi::Value* value, TensorScratch& scratch, tensortap_tensor& tensor);

// A new tensor value with a copy of the data (strides followed).
Result<OwnedValue> make_value(const Api& api, const tensortap_tensor& tensor);
// A new tensor value with its memory not yet set; strings are empty.
Result<OwnedValue> allocate_value(const Api& api, int32_t element_type, const std::vector<int64_t>& dims);
Result<OwnedValue> copy_value(const Api& api, const abi::Value* value);
// A sequence of tensors. The elements are shared, not copied.
Result<OwnedValue> make_sequence(const Api& api, const std::vector<OwnedValue>& elements);
// Keys and values have one dimension and as many elements. Both are copied.
Result<OwnedValue> make_map(const Api& api, const OwnedValue& keys, const OwnedValue& values);

// Elements of a sequence (or the keys and values of a map), in order.
Result<std::vector<OwnedValue>> elements_of(const Api& api, const abi::Value* value);

// "" when both hold the same bits (NaN payloads included), otherwise what differs in words.
Result<std::string> difference(const Api& api, const abi::Value* a, const abi::Value* b);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ORT_VALUE_H_
