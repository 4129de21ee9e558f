// Numbers as activations have them, in any type.

#ifndef TENSORTAP_BENCH_STORED_NUMBER_H_
#define TENSORTAP_BENCH_STORED_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"
#include "tensor/number_formats.h"

namespace tensortap {

// Writes `value` into an element of the type; numbers from -4 to 4 fill the range of an integer well.
inline void store_number(DType dtype, double value, std::byte* target) {
  const auto put = [&](auto number) { std::memcpy(target, &number, sizeof(number)); };
  switch (dtype) {
    case DType::kFloat32:
      return put(static_cast<float>(value));
    case DType::kFloat64:
      return put(value);
    case DType::kFloat16:
      return put(float_to_float16(static_cast<float>(value)));
    case DType::kBFloat16:
      return put(float_to_bfloat16(static_cast<float>(value)));
    case DType::kInt16:
      return put(static_cast<int16_t>(value * 1000));
    case DType::kInt32:
      return put(static_cast<int32_t>(value * 10000));
    case DType::kInt64:
      return put(static_cast<int64_t>(value * 10000));
    default:
      return put(static_cast<int8_t>(value * 30));
  }
}

}  // namespace tensortap

#endif  // TENSORTAP_BENCH_STORED_NUMBER_H_
