// Single elements that differ by more than rounding, in tensors that as a whole do not.

#ifndef TENSORTAP_COMPARE_LONE_DIFFERENCE_H_
#define TENSORTAP_COMPARE_LONE_DIFFERENCE_H_

#include <cstdint>
#include <optional>

#include "compare/difference.h"
#include "trace/dump_index.h"

namespace tensortap {

// An element may be so far away: relative to itself, and relative to the root mean square of all of them. The larger one counts.
struct ElementLimit {
  double of_itself = 0;
  double of_usual = 0;
};

// Of values made of equal ones. `step` is that of the coarsest type on the way, `allowed` what the ops may add, relative L2.
// One program only hands on what it read: each element is within its own rounding.
ElementLimit element_limit_of_copy(double step, double allowed);
// Both run one op. Another way of rounding changes many elements: where most are equal, none of the others is far beyond the largest of
// many errors. Nothing where they are not.
std::optional<ElementLimit> element_limit_of_op(const Difference& difference, double allowed);

// Whether the element that differs most, or most relative to itself, is beyond the limit. `row_a` is the row that the difference calls a.
// False where its data cannot be read as real numbers.
bool has_lone_difference(const DumpIndex& a, uint32_t row_a, const Difference& difference, const ElementLimit& limit);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_LONE_DIFFERENCE_H_
