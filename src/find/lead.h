// What led to a non-finite value: how the op's values grew or shrank in the steps before.

#ifndef TENSORTAP_FIND_LEAD_H_
#define TENSORTAP_FIND_LEAD_H_

#include <cstddef>
#include <optional>
#include <span>

#include "find/trends.h"

namespace tensortap {

// Of the record in `row` in the steps before its own, or else, of the records in `inputs` that its op read, the one that changed most, its
// own step included. Nothing when none of them did. Linear in the records.
std::optional<Trend> lead_to(const DumpIndex& dump, size_t row, std::span<const size_t> inputs);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_LEAD_H_
