// Which programs compute with codes of few bits, and how coarse these are.

#ifndef TENSORTAP_COMPARE_QUANTISED_PROGRAMS_H_
#define TENSORTAP_COMPARE_QUANTISED_PROGRAMS_H_

#include "compare/pairing_keys.h"
#include "compare/value_table.h"

namespace tensortap {

// The relative step that real numbers have behind codes of so many bits.
double step_of_codes(int bits);

// The bits of a tensor of codes: whole numbers of at most 8 bits, more than a few. 0 for other values. Images of bytes are no codes.
int bits_of_codes(const ValueTable& table, ValueId id);

// Whether an op of the program quantises, or holds a tensor in codes.
bool is_quantised(const PairingKeys& keys);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_QUANTISED_PROGRAMS_H_
