// Element types as ONNX (TensorProto.DataType), ONNX Runtime and capture.h number them. The table of them is tensor/dtype.h's.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ELEMENT_TYPES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ELEMENT_TYPES_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace tensortap::onnxruntime {

// Of ONNX's number, which "element type" means in this folder unless "runtime" is said.
inline const DTypeInfo& element_type(int32_t onnx_type) { return dtype_info(dtype_from_onnx(onnx_type)); }
// capture.h's number of it.
inline uint32_t dtype_number(int32_t onnx_type) { return static_cast<uint32_t>(dtype_from_onnx(onnx_type)); }

// One of capture.h's numbers.
inline DType dtype_of(uint32_t number) { return number < kDTypeCount ? static_cast<DType>(number) : DType::kUndefined; }
// ONNX's number of it; 0 when ONNX does not have it.
inline int32_t onnx_type_of(uint32_t number) { return dtype_info(dtype_of(number)).onnx; }

inline constexpr int32_t kElementString = 8;

// ONNX Runtime gives ONNX's numbers out except for the three newest types.
inline constexpr int32_t onnx_type_of_runtime(int32_t runtime_type) {
  switch (runtime_type) {
    case 24:
      return 25;  // uint2
    case 25:
      return 26;  // int2
    case 26:
      return 24;  // float8_e8m0
    default:
      return runtime_type;
  }
}

// The number to make a tensor with: before 1.31 the function that makes tensors took ONNX's own.
inline constexpr int32_t runtime_type_of(int32_t onnx_type, int release) {
  if (release < 31 || onnx_type < 24) return onnx_type;
  return onnx_type == 24 ? 26 : onnx_type - 1;
}

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_ELEMENT_TYPES_H_
