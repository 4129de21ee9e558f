// A tensor as a TensorProto of ONNX.

#ifndef TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_WRITE_H_
#define TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_WRITE_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// TensorProto bytes: elements packed as raw_data, texts as string_data. `view` has its values. Errors: kUnsupported for types without a
// number in ONNX.
Result<std::string> onnx_tensor_bytes(std::string_view name, const TensorView& view);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_TENSOR_WRITE_H_
