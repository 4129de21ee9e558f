// Copies a part of a tensor into a new tensor.

#ifndef TENSORTAP_CLI_TEXT_GATHER_H_
#define TENSORTAP_CLI_TEXT_GATHER_H_

#include "read/print_tensor.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// The elements of `slice`, packed and contiguous, in new memory; texts still borrow from the tensor that the slice is of.
RecordData gather(const TensorSlice& slice);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_GATHER_H_
