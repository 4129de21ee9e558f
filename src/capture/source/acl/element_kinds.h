// Element types as AscendCL and capture.h number them, and 16-bit floats.

#ifndef TENSORTAP_SOURCE_ACL_ELEMENT_KINDS_H_
#define TENSORTAP_SOURCE_ACL_ELEMENT_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "acl/acl_base.h"

namespace tensortap::acl_source {

// TENSORTAP_UNDEFINED for types that capture.h does not have.
uint32_t dtype_of(aclDataType type);
// ACL_DT_UNDEFINED for types that AscendCL does not have.
aclDataType acl_type_of(uint32_t dtype);
// By the name that describe() of the ONNX Runtime source gives, such as "float32".
aclDataType acl_type_of(std::string_view name);
// "float32"; "undefined" for unknown numbers.
std::string_view element_name(aclDataType type);
// Bits of an element; 0 for strings and unknown numbers.
size_t element_bits(aclDataType type);
// ONNX's number (TensorProto.DataType); 0 when it has none.
int32_t onnx_number(aclDataType type);

// Bytes of a tensor; false when a dimension is open or they do not fit.
bool tensor_bytes(aclDataType type, std::span<const int64_t> dims, uint64_t& bytes);

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_ELEMENT_KINDS_H_
