// Ops that make nothing but zeros of values that are not zeros.

#ifndef TENSORTAP_FIND_DEAD_MAKERS_H_
#define TENSORTAP_FIND_DEAD_MAKERS_H_

#include <vector>

#include "find/patterns.h"
#include "query/record_lookup.h"

namespace tensortap {

// Those of find_dead_outputs() that are worth a look. Leaves out integers, single numbers, outputs of optimizers and loading, outputs that
// are meant to be zeros (zeros_like, a mask of equal numbers), copies and views, outputs that an op made of zeros, and outputs that nothing
// reads if another output of the op is read. If a dump does not show the inputs of the op, the output stays.
std::vector<DeadOutput> find_dead_makers(const DumpIndex& dump, const RecordLookup& lookup);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_DEAD_MAKERS_H_
