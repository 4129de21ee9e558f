// What led to a non-finite value: how the op's values grew or shrank in the steps before.

#ifndef TENSORTAP_FIND_LEAD_H_
#define TENSORTAP_FIND_LEAD_H_

#include <cstddef>
#include <optional>
#include <span>

#include "find/trends.h"

namespace tensortap {

// The trend of the record in `row` in the steps before its step. Without one, the trend that changed most among the records in `inputs`
// that its op read, the step of `row` included. Nothing when no record has a trend. Linear in the records.
std::optional<Trend> lead_to(const DumpIndex& dump, size_t row, std::span<const size_t> inputs);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_LEAD_H_
