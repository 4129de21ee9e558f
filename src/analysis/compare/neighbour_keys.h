// Keys of the inputs and readers of values, in numbers of pairs: values of two dumps with equal keys have the same place.

#ifndef TENSORTAP_COMPARE_NEIGHBOUR_KEYS_H_
#define TENSORTAP_COMPARE_NEIGHBOUR_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compare/pairing_keys.h"

namespace tensortap {

// `pair_of` is the number of its pair by value of `keys`, Pairing::kNoPair without one.

// The family of its op and its inputs; "" where one of them has no pair. Constants at the end do not count: what is an input of
// one framework's op (an axis, a number of elements) is an attribute of another's.
std::string makers_key(const PairingKeys& keys, ValueId id, const std::vector<uint32_t>& pair_of);

// Its readers; "" where none of them has a pair. With `any_maker` the first output of any op counts, whatever its family.
std::string readers_key(const PairingKeys& keys, ValueId id, const std::vector<uint32_t>& pair_of, bool any_maker);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_NEIGHBOUR_KEYS_H_
