// How the codes that a quantising op returns represent numbers.

#ifndef TENSORTAP_COMPARE_QUANTISED_VALUE_H_
#define TENSORTAP_COMPARE_QUANTISED_VALUE_H_

#include <cstdint>
#include <vector>

#include "compare/difference.h"
#include "compare/pairing_keys.h"

namespace tensortap {

// Value type; `view()` borrows from it.
struct QuantisedValue {
  std::vector<double> scale;  // empty: not quantised, or not known; one for the whole tensor
  std::vector<int64_t> zero_point;
  [[nodiscard]] Quantization view() const { return {scale, zero_point, 0}; }
};

// From the scale and the zero point that the op read, where it has one of each and their values are in the dump; through ops that only move
// elements. Reads their data.
QuantisedValue quantised_value(const PairingKeys& keys, ValueId id);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_QUANTISED_VALUE_H_
