// Ops that make nothing but zeros of values that are not zeros.

#ifndef TENSORTAP_FIND_DEAD_MAKERS_H_
#define TENSORTAP_FIND_DEAD_MAKERS_H_

#include <vector>

#include "find/patterns.h"
#include "query/record_lookup.h"

namespace tensortap {

// Of find_dead_outputs() those worth a look. Left out are integers, single numbers, what optimizers and loading make, what is there to
// be zeros (zeros_like, a mask of equal numbers), copies and views, what an op made of zeros, and outputs that nothing reads beside
// another one of the op that something reads. Where a dump does not show what the op read, the output stays.
std::vector<DeadOutput> find_dead_makers(const DumpIndex& dump, const RecordLookup& lookup);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_DEAD_MAKERS_H_
