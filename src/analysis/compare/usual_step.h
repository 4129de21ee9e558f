// How coarse the types are that a program computes in.

#ifndef TENSORTAP_COMPARE_USUAL_STEP_H_
#define TENSORTAP_COMPARE_USUAL_STEP_H_

#include "compare/value_table.h"

namespace tensortap {

// The smallest step of a type so that less than a tenth of the real values that ops made have a coarser one; 0 where there are none.
double usual_step(const ValueTable& table);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_USUAL_STEP_H_
