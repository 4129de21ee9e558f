// Where two programs begin to compute with other shapes.

#ifndef TENSORTAP_COMPARE_OTHER_SHAPE_H_
#define TENSORTAP_COMPARE_OTHER_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/pairing_keys.h"
#include "compare/value_table.h"

namespace tensortap {

// One value that both programs have, with another number of elements.
struct OtherShape {
  uint32_t row_a = kNoRow;
  uint32_t row_b = kNoRow;
  bool given = false;  // an input or a weight
};

// `between_a` and `between_b` are the rows on the way to one value that have no partner. Returns the first of B, in the order of execution,
// whose value in A has the same name and another number of elements: programs whose inputs have no names show so that these differ.
std::optional<OtherShape> first_other_shape(const PairingKeys& keys_a, const std::vector<uint32_t>& between_a, const PairingKeys& keys_b,
                                            std::vector<uint32_t> between_b);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_OTHER_SHAPE_H_
