// Ops that computed with memory that nothing was written to.

#ifndef TENSORTAP_FIND_UNWRITTEN_READS_H_
#define TENSORTAP_FIND_UNWRITTEN_READS_H_

#include <cstddef>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// Rows of inputs whose memory nothing was written to since it was allocated, or which are copies of such memory, and which their op read:
// not only wrote over, showed, copied, or asked for their shape. The first of each op, in time order, at most `limit`. Memory of which a
// part was written counts as written. Linear in the records; empty for dumps that do not say which memory tensors are in.
std::vector<size_t> find_unwritten_reads(const DumpIndex& dump, size_t limit);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_UNWRITTEN_READS_H_
