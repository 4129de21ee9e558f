// Differences that rounding cannot make, however small they are.

#ifndef TENSORTAP_COMPARE_SYSTEMATIC_DIFFERENCE_H_
#define TENSORTAP_COMPARE_SYSTEMATIC_DIFFERENCE_H_

#include "compare/difference.h"

namespace tensortap {

// Rounding has no sign: whether a factor or a shift stands out of it by 8 standard errors. Of two values that were made of equal ones.
bool is_systematic(const Difference& difference);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SYSTEMATIC_DIFFERENCE_H_
