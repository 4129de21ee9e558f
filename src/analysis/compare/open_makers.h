// Pairs that nothing but what they read decides.

#ifndef TENSORTAP_COMPARE_OPEN_MAKERS_H_
#define TENSORTAP_COMPARE_OPEN_MAKERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "compare/pairing_keys.h"

namespace tensortap {

// Values of A and of B that lead to no pair, made by the only op of one kind (a product, a convolution, an attention, a normalisation) that
// reads certain pairs. `pair_of` is by value, Pairing::kNoPair without one. What only shows or moves a value is looked through.
std::vector<std::pair<ValueId, ValueId>> open_makers(const PairingKeys& a, const std::vector<uint32_t>& pair_of_a, const PairingKeys& b,
                                                     const std::vector<uint32_t>& pair_of_b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_OPEN_MAKERS_H_
