// How coarse the numbers of a type are.

#ifndef TENSORTAP_COMPARE_UNIT_ROUNDOFF_H_
#define TENSORTAP_COMPARE_UNIT_ROUNDOFF_H_

#include "tensor/dtype.h"

namespace tensortap {

// The distance from 1 to the next number of a type of real numbers; 0 for others.
double unit_roundoff(DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_UNIT_ROUNDOFF_H_
