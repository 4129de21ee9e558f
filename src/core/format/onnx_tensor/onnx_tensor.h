// The format onnx-tensor: one TensorProto, as ONNX test data and initializers have them. Read only. docs/formats/onnx_tensor.md.

#ifndef TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_H_
#define TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_H_

#include "format/format.h"

namespace tensortap {

bool onnx_tensor_holds(DType dtype);
bool onnx_tensor_recognise(std::span<const std::byte> head);
Result<std::vector<NamedTensor>> onnx_tensor_decode(std::span<const std::byte> bytes);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_H_
