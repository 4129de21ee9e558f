// The sentence on the value where two programs part.

#ifndef TENSORTAP_COMPARE_CULPRIT_TEXT_H_
#define TENSORTAP_COMPARE_CULPRIT_TEXT_H_

#include <string>
#include <vector>

#include "compare/dump_comparison.h"

namespace tensortap {

// "/enc.1/scale:out0 (Mul): relative L2 0.2, its inputs are equal", named as in B; "" where the comparison found no culprit. The sentence
// also counts values on the way to it that have no partner, and names missing ones.
std::string culprit_text(const DumpComparison& comparison);

// What else is known where the programs part, a sentence without a full stop each: attributes that differ, what is clipped, the ops that
// one program alone has, where shapes begin to differ, and further values that rounding does not explain. Empty where nothing is outside.
std::vector<std::string> culprit_details(const DumpComparison& comparison);

// "inputs differ in shape: x [1,7,32] in A, [3,7,32] in B"; "" where no input that the programs are given has another shape.
std::string other_inputs_text(const DumpComparison& comparison);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_CULPRIT_TEXT_H_
