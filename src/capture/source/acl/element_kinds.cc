#include "source/acl/element_kinds.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tensortap/capture.h"

namespace tensortap::acl_source {
namespace {

struct ElementKind {
  aclDataType type;
  uint32_t dtype;
  uint8_t bits;
  uint8_t onnx;
  std::string_view name;
};

constexpr std::array kElementKinds = {
    ElementKind{ACL_FLOAT, TENSORTAP_FLOAT32, 32, 1, "float32"},
    ElementKind{ACL_FLOAT16, TENSORTAP_FLOAT16, 16, 10, "float16"},
    ElementKind{ACL_INT8, TENSORTAP_INT8, 8, 3, "int8"},
    ElementKind{ACL_INT32, TENSORTAP_INT32, 32, 6, "int32"},
    ElementKind{ACL_UINT8, TENSORTAP_UINT8, 8, 2, "uint8"},
    ElementKind{ACL_INT16, TENSORTAP_INT16, 16, 5, "int16"},
    ElementKind{ACL_UINT16, TENSORTAP_UINT16, 16, 4, "uint16"},
    ElementKind{ACL_UINT32, TENSORTAP_UINT32, 32, 12, "uint32"},
    ElementKind{ACL_INT64, TENSORTAP_INT64, 64, 7, "int64"},
    ElementKind{ACL_UINT64, TENSORTAP_UINT64, 64, 13, "uint64"},
    ElementKind{ACL_DOUBLE, TENSORTAP_FLOAT64, 64, 11, "float64"},
    ElementKind{ACL_BOOL, TENSORTAP_BOOL, 8, 9, "bool"},
    ElementKind{ACL_STRING, TENSORTAP_STRING, 0, 8, "string"},
    ElementKind{ACL_COMPLEX64, TENSORTAP_COMPLEX64, 64, 14, "complex64"},
    ElementKind{ACL_COMPLEX128, TENSORTAP_COMPLEX128, 128, 15, "complex128"},
    ElementKind{ACL_BF16, TENSORTAP_BFLOAT16, 16, 16, "bfloat16"},
    ElementKind{ACL_INT4, TENSORTAP_INT4, 4, 22, "int4"},
    ElementKind{ACL_UINT1, TENSORTAP_UINT1, 1, 0, "uint1"},
    ElementKind{ACL_COMPLEX32, TENSORTAP_UNDEFINED, 32, 0, "complex32"},
    ElementKind{ACL_HIFLOAT8, TENSORTAP_UNDEFINED, 8, 0, "hifloat8"},
    ElementKind{ACL_FLOAT8_E5M2, TENSORTAP_FLOAT8_E5M2, 8, 19, "float8_e5m2"},
    ElementKind{ACL_FLOAT8_E4M3FN, TENSORTAP_FLOAT8_E4M3FN, 8, 17, "float8_e4m3fn"},
    ElementKind{ACL_FLOAT8_E8M0, TENSORTAP_FLOAT8_E8M0, 8, 24, "float8_e8m0"},
    ElementKind{ACL_FLOAT6_E3M2, TENSORTAP_UNDEFINED, 6, 0, "float6_e3m2"},
    ElementKind{ACL_FLOAT6_E2M3, TENSORTAP_UNDEFINED, 6, 0, "float6_e2m3"},
    ElementKind{ACL_FLOAT4_E2M1, TENSORTAP_FLOAT4_E2M1, 4, 23, "float4_e2m1"},
    ElementKind{ACL_FLOAT4_E1M2, TENSORTAP_UNDEFINED, 4, 0, "float4_e1m2"},
};

constexpr ElementKind kNoKind{ACL_DT_UNDEFINED, TENSORTAP_UNDEFINED, 0, 0, "undefined"};

const ElementKind& kind_of(aclDataType type) {
  const auto row = std::ranges::find(kElementKinds, type, &ElementKind::type);
  return row == kElementKinds.end() ? kNoKind : *row;
}

}  // namespace

uint32_t dtype_of(aclDataType type) { return kind_of(type).dtype; }

aclDataType acl_type_of(uint32_t dtype) {
  if (dtype == TENSORTAP_UNDEFINED) return ACL_DT_UNDEFINED;
  const auto row = std::ranges::find(kElementKinds, dtype, &ElementKind::dtype);
  return row == kElementKinds.end() ? ACL_DT_UNDEFINED : row->type;
}

aclDataType acl_type_of(std::string_view name) {
  const auto row = std::ranges::find(kElementKinds, name, &ElementKind::name);
  return row == kElementKinds.end() ? ACL_DT_UNDEFINED : row->type;
}

std::string_view element_name(aclDataType type) { return kind_of(type).name; }
size_t element_bits(aclDataType type) { return kind_of(type).bits; }
int32_t onnx_number(aclDataType type) { return kind_of(type).onnx; }

bool tensor_bytes(aclDataType type, std::span<const int64_t> dims, uint64_t& bytes) {
  uint64_t bits = element_bits(type);
  for (const int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(bits, static_cast<uint64_t>(dim), &bits)) return false;
  }
  bytes = bits / 8 + (bits % 8 != 0 ? 1 : 0);
  return true;
}

float half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  uint32_t exponent = half >> 10 & 0x1fu;
  uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0 && fraction == 0) return std::bit_cast<float>(sign);
  if (exponent == 0) {
    const int shift = std::countl_zero(fraction) - 21;  // puts the highest set bit where the hidden one stands
    fraction = fraction << shift & 0x3ffu;
    exponent = static_cast<uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 65520 on rounds to infinity
  uint32_t kept = 0;
  uint32_t dropped = 0;
  uint32_t half_way = 0x1000u;
  if (magnitude >= 0x38800000u) {
    kept = (magnitude - 0x38000000u) >> 13;
    dropped = magnitude & 0x1fffu;
  } else {
    const uint32_t shift = 126 - (magnitude >> 23);
    if (shift > 24) return sign;
    const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    kept = fraction >> shift;
    dropped = fraction & ((1u << shift) - 1);
    half_way = 1u << (shift - 1);
  }
  if (dropped > half_way || (dropped == half_way && kept % 2 == 1)) ++kept;
  return static_cast<uint16_t>(sign | kept);
}

}  // namespace tensortap::acl_source
