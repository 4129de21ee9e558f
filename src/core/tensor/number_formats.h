// Conversion of every number format to double or float, exact: each finite value of every format up to 32 bits, and of float64, is a
// double; int64 and uint64 are rounded to nearest even. NaN payloads are not kept.
//
// Sources: IEEE 754-2019 (binary16/32/64), OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2), OCP Microscaling Formats 1.0 (e8m0,
// e2m1, int formats), the fnuz variants as ONNX defines them (docs/docsgen/source/technical/float8.md of onnx). Checked against ml_dtypes.

#ifndef TENSORTAP_TENSOR_NUMBER_FORMATS_H_
#define TENSORTAP_TENSOR_NUMBER_FORMATS_H_

#include <cstdint>

#include "tensor/dtype.h"

namespace tensortap {

float float16_to_float(uint16_t bits);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_float16(float value);     // rounds to nearest even
uint16_t float_to_bfloat16(float value);    // rounds to nearest even
uint8_t float_to_float8_e8m0(float value);  // of a power of two or NaN

// Packs the low `bits` (2 or 4) of each of `count` bytes, the first into the lowest bits, into packed_bytes() bytes.
void pack_elements(const void* elements, uint64_t count, unsigned bits, void* packed);

// Elements [begin, begin + count) of packed data of any dtype but complex and string, as doubles. Bool gives 0 and 1.
void to_float64(DType dtype, const void* data, uint64_t begin, uint64_t count, double* out);
// The same as floats, for types whose values floats hold (8, 16 and fewer bits, float32, bool); others are rounded.
void to_float32(DType dtype, const void* data, uint64_t begin, uint64_t count, float* out);
// The element `index` of packed data as a complex number (imaginary part 0 for real types).
void to_complex128(DType dtype, const void* data, uint64_t index, double& real, double& imaginary);

// Elements of integer types as int64 (uint64 above 2^63 - 1 keeps its bit pattern).
void to_int64(DType dtype, const void* data, uint64_t begin, uint64_t count, int64_t* out);

// Largest finite value of a floating type, its smallest normal value and smallest positive (subnormal) value, as doubles.
struct FloatLimits {
  double largest;
  double smallest_normal;
  double smallest;
};
FloatLimits float_limits(DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_NUMBER_FORMATS_H_
