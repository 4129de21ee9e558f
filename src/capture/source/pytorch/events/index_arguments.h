// Finds the index of a failed operator that is out of range: torch's own message contains neither its value nor its place.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_INDEX_ARGUMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_INDEX_ARGUMENTS_H_

#include <span>
#include <string>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/identity/operator_table.h"

namespace tensortap::pytorch {

// "index 12 at [1, 3] of in1 (indices) is outside 0..9, the range of dimension 0 of in0", for the first such index in host memory. Where
// another argument chooses the dimension, the range of all indices instead. "" when every index is in range, or the operator takes none.
std::string index_out_of_range(const TorchOperator& op, std::span<const tensortap_torch_tensor> arguments);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_INDEX_ARGUMENTS_H_
