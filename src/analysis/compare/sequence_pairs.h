// Values of two programs that make mostly the same calls in the same order.

#ifndef TENSORTAP_COMPARE_SEQUENCE_PAIRS_H_
#define TENSORTAP_COMPARE_SEQUENCE_PAIRS_H_

#include <functional>
#include <vector>

#include "compare/pairing_keys.h"

namespace tensortap {

struct SequencePair {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  bool holds = false;  // whatever the values are: the inputs of both calls are pairs as well. Otherwise only near values are a pair
};

// One call more in a module changes the numbers in the names of all that follow, but not their order. Empty for dumps of graphs, which have
// better keys, and for programs that share too little. `is_near` says whether two values agree up to rounding. A value may be in
// several pairs: the first counts.
// `step_in_b` is the step of B beside one of A.
std::vector<SequencePair> sequence_pairs(const PairingKeys& a, const PairingKeys& b, const std::function<bool(ValueId, ValueId)>& is_near,
                                         const std::function<int64_t(int64_t)>& step_in_b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SEQUENCE_PAIRS_H_
