// The sentence on the value where two programs part.

#ifndef TENSORTAP_COMPARE_CULPRIT_TEXT_H_
#define TENSORTAP_COMPARE_CULPRIT_TEXT_H_

#include <string>

#include "compare/dump_comparison.h"

namespace tensortap {

// "/enc.1/scale:out0 (Mul): relative L2 0.2, its inputs are equal", named as in B; "" where the comparison found no culprit.
std::string culprit_text(const DumpComparison& comparison);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_CULPRIT_TEXT_H_
