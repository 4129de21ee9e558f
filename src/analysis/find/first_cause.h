// The value of NaN or Inf to look at first.

#ifndef TENSORTAP_FIND_FIRST_CAUSE_H_
#define TENSORTAP_FIND_FIRST_CAUSE_H_

#include <optional>

#include "find/nonfinite_origins.h"
#include "trace/dump_index.h"

namespace tensortap {

// What the op to fix made: the origin of the value that the program saw or, if that is unknown, the earliest one. Intended infinities do
// not count, and nothing where all was harmless.
std::optional<NonFiniteRecord> first_cause(const DumpIndex& dump, const std::optional<NonFiniteRecord>& first_in_time,
                                           const NonFiniteFindings& found);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_FIRST_CAUSE_H_
