// Doubles as numbers of a narrower floating type: rounded to the nearest, and their place in the order of the type's values.

#ifndef TENSORTAP_COMPARE_ROUNDING_H_
#define TENSORTAP_COMPARE_ROUNDING_H_

#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace tensortap {

// Digits of the significand of a floating type, the one in front of the point included; 0 for others.
int significand_digits(DType dtype);
// The one of two floating types with fewer digits, b when they have equally many.
DType narrower(DType a, DType b);

// Sets ordinals[i] to the place of the value of `dtype` that is nearest to values[i] (of two the even one): 0 is 0, the value that follows
// a value in size has the next number, negative ones have negative numbers. The distance of two places is one in ULP. Numbers beyond the
// largest become infinite, in types without infinity the largest. The place of a NaN has no meaning. `dtype` is a floating one; `ordinals`
// holds as many numbers as `values`.
void to_ordinals(DType dtype, std::span<const double> values, int64_t* ordinals);

// The same with the values at these places.
void round_to(DType dtype, std::span<const double> values, double* rounded);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ROUNDING_H_
