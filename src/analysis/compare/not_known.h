// What a comparison without a finding does not clear.

#ifndef TENSORTAP_COMPARE_NOT_KNOWN_H_
#define TENSORTAP_COMPARE_NOT_KNOWN_H_

#include <string>

#include "compare/dump_comparison.h"

namespace tensortap {

// "2 of 40 records could not be compared (neither data nor statistics of both)", several reasons joined by "; "; "" where all that the two
// dumps contain was compared, and the captures saw the values of all ops that ran. Whether a dump is complete is another question
// (AnsweredDumps).
std::string not_known_text(const DumpComparison& comparison);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_NOT_KNOWN_H_
