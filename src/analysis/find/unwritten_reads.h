// Ops that computed with memory that nothing was written to.

#ifndef TENSORTAP_FIND_UNWRITTEN_READS_H_
#define TENSORTAP_FIND_UNWRITTEN_READS_H_

#include <cstddef>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// Finds inputs that an op read although nothing was written to their memory since its allocation, or that copy such memory. Writing over,
// showing or copying it, or asking for its shape is no reading. If a tensor was written in part, a mask may hide the unwritten elements:
// only ops that add all elements to one number count then. Returns the first row of each op, in time order, at most `limit`. Linear in the
// records; empty for dumps that do not record which memory each tensor uses.
std::vector<size_t> find_unwritten_reads(const DumpIndex& dump, size_t limit);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_UNWRITTEN_READS_H_
