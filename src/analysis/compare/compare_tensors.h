// Every measure of how two tensors differ, in one pass over both.

#ifndef TENSORTAP_COMPARE_COMPARE_TENSORS_H_
#define TENSORTAP_COMPARE_COMPARE_TENSORS_H_

#include "base/status.h"
#include "compare/difference.h"
#include "tensor/tensor.h"

namespace tensortap {

// Compares two tensors of the same number of elements, in C order; any strides and alignments, different types and shapes. For strings only
// numel, compared, bit_equal, differing and first_differing are set. Errors: kInvalidArgument when the numbers of elements differ, for a
// permutation that does not lead from one shape to the other, for scales that do not fit, for a type that cannot be compared with the other
// (string or complex with anything else), for null data; kUnsupported for a permutation of strings or of elements narrower than a byte. No
// allocation that grows with the tensors. Thread-safe.
Result<Difference> compare_tensors(const TensorView& a, const TensorView& b, const DifferenceOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_COMPARE_TENSORS_H_
