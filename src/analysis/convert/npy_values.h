// Tensors as NumPy can hold them: types that it has no name for become the smallest one that has all their values.

#ifndef TENSORTAP_CONVERT_NPY_VALUES_H_
#define TENSORTAP_CONVERT_NPY_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// bfloat16, float8 and float4 as float32, integers under a byte as bytes, others as they are. kUndefined for texts.
DType numpy_dtype_for(DType dtype);

// Writes `head`, and the values of a contiguous tensor as numpy_dtype_for() has them. Errors: kUnsupported for texts, kIo.
Status write_values(File& file, std::string_view head, const TensorView& view);

// A whole npy file of such values, of npy_bytes() bytes. Errors as write_values() has them.
Status write_npy(File& file, const TensorView& view);
uint64_t npy_bytes(const TensorDesc& desc);

// Bytes that write_values() writes.
uint64_t value_bytes(const TensorDesc& desc);

// The bytes of such an npy file. Errors: kUnsupported for texts.
Result<std::string> npy_file_of(const TensorView& view);

// A value of HiFloat8, whose width of exponent and fraction differ from value to value.
float hifloat8_to_float(uint8_t bits);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_NPY_VALUES_H_
