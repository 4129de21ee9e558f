// Element types as ONNX (TensorProto.DataType), ONNX Runtime and capture.h number them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ELEMENT_TYPES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ELEMENT_TYPES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

struct ElementType {
  uint8_t dtype;  // enum tensortap_dtype
  uint8_t bits;   // of one element; 0 for strings
  std::string_view name;
};

// Indexed by ONNX's number, which "element type" means in this folder unless "runtime" is said.
inline constexpr std::array<ElementType, 27> kElementTypes = {{
    {TENSORTAP_UNDEFINED, 0, "undefined"},
    {TENSORTAP_FLOAT32, 32, "float32"},
    {TENSORTAP_UINT8, 8, "uint8"},
    {TENSORTAP_INT8, 8, "int8"},
    {TENSORTAP_UINT16, 16, "uint16"},
    {TENSORTAP_INT16, 16, "int16"},
    {TENSORTAP_INT32, 32, "int32"},
    {TENSORTAP_INT64, 64, "int64"},
    {TENSORTAP_STRING, 0, "string"},
    {TENSORTAP_BOOL, 8, "bool"},
    {TENSORTAP_FLOAT16, 16, "float16"},
    {TENSORTAP_FLOAT64, 64, "float64"},
    {TENSORTAP_UINT32, 32, "uint32"},
    {TENSORTAP_UINT64, 64, "uint64"},
    {TENSORTAP_COMPLEX64, 64, "complex64"},
    {TENSORTAP_COMPLEX128, 128, "complex128"},
    {TENSORTAP_BFLOAT16, 16, "bfloat16"},
    {TENSORTAP_FLOAT8_E4M3FN, 8, "float8_e4m3fn"},
    {TENSORTAP_FLOAT8_E4M3FNUZ, 8, "float8_e4m3fnuz"},
    {TENSORTAP_FLOAT8_E5M2, 8, "float8_e5m2"},
    {TENSORTAP_FLOAT8_E5M2FNUZ, 8, "float8_e5m2fnuz"},
    {TENSORTAP_UINT4, 4, "uint4"},
    {TENSORTAP_INT4, 4, "int4"},
    {TENSORTAP_FLOAT4_E2M1, 4, "float4_e2m1"},
    {TENSORTAP_FLOAT8_E8M0, 8, "float8_e8m0"},
    {TENSORTAP_UINT2, 2, "uint2"},
    {TENSORTAP_INT2, 2, "int2"},
}};

inline const ElementType& element_type(int32_t onnx_type) {
  return onnx_type >= 0 && static_cast<size_t>(onnx_type) < kElementTypes.size() ? kElementTypes[static_cast<size_t>(onnx_type)]
                                                                                 : kElementTypes[0];
}

// ONNX's number of one of ours; 0 when ONNX does not have it.
inline int32_t onnx_type_of(uint32_t dtype) {
  for (size_t i = 1; i < kElementTypes.size(); ++i) {
    if (kElementTypes[i].dtype == dtype) return static_cast<int32_t>(i);
  }
  return 0;
}

inline constexpr int32_t kElementString = 8;

// ONNX Runtime gives ONNX's numbers out but for the three newest types.
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

// Elements of a shape; false when a dimension is negative or the product does not fit.
inline bool element_count(std::span<const int64_t> dims, uint64_t& count) {
  count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count)) return false;
  }
  return true;
}

// Bytes that `count` elements take, small ones packed; false when they do not fit in 2^60.
inline bool byte_count(int32_t onnx_type, uint64_t count, uint64_t& bytes) {
  if (count > (uint64_t{1} << 56)) return false;
  bytes = (count * element_type(onnx_type).bits + 7) / 8;
  return true;
}

// Bits of the last byte that belong to elements; the runtime leaves the others as they come.
inline unsigned char last_byte_mask(int32_t onnx_type, uint64_t count) {
  const uint64_t used = count * element_type(onnx_type).bits % 8;
  return used == 0 ? 0xff : static_cast<unsigned char>((1u << used) - 1);
}

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ELEMENT_TYPES_H_
