// The modulus of a complex number as statistics see it.

#ifndef TENSORTAP_STATS_MODULUS_H_
#define TENSORTAP_STATS_MODULUS_H_

#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/dtype.h"

namespace tensortap {

// Squares of floats neither overflow nor underflow in double. NaN when either part is NaN.
inline double modulus(float real, float imaginary) {
  const double x = static_cast<double>(real);
  const double y = static_cast<double>(imaginary);
  return std::sqrt(x * x + y * y);
}

// hypot alone would hide a NaN behind an infinite other part.
inline double modulus(double real, double imaginary) {
  if (std::isnan(real) || std::isnan(imaginary)) return std::numeric_limits<double>::quiet_NaN();
  return std::hypot(real, imaginary);
}

template <class T>
void to_moduli_of(const void* data, uint64_t begin, uint64_t count, double* out) {
  const auto* bytes = static_cast<const unsigned char*>(data) + begin * 2 * sizeof(T);
  for (uint64_t i = 0; i < count; ++i) {
    T parts[2];
    std::memcpy(parts, bytes + i * sizeof(parts), sizeof(parts));
    out[i] = modulus(parts[0], parts[1]);
  }
}

// Elements [begin, begin + count) of packed complex64 or complex128 data.
inline void to_moduli(DType dtype, const void* data, uint64_t begin, uint64_t count, double* out) {
  if (dtype == DType::kComplex64) return to_moduli_of<float>(data, begin, count, out);
  to_moduli_of<double>(data, begin, count, out);
}

}  // namespace tensortap

#endif  // TENSORTAP_STATS_MODULUS_H_
