// How much a value may differ because of rounding alone: by the types on its way and the number of ops that made it.

#ifndef TENSORTAP_COMPARE_TOLERANCE_MODEL_H_
#define TENSORTAP_COMPARE_TOLERANCE_MODEL_H_

#include <cstdint>
#include <vector>

#include "compare/pairing.h"
#include "compare/pairing_keys.h"

namespace tensortap {

// Relative L2 that is tolerated of a value: 8 eps sqrt(K) behind K ops, eps that of the coarsest type on the way.
struct ModelTolerance {
  double unit = 0;        // 8 eps; 0 of values that are no rounded numbers: integers and truth values
  double ops = 1;         // in depth, of its first execution
  double ops_a_call = 0;  // that each further execution adds: the depth of the graph that a loop runs again
  [[nodiscard]] double at(uint32_t call) const;
};

// Of each pair, from both dumps. What quantising ops make has a step of 1/256 of its range.
std::vector<ModelTolerance> model_tolerances(const PairingKeys& a, const PairingKeys& b, const Pairing& pairing);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_TOLERANCE_MODEL_H_
