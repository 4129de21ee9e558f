// A trial of the operators that measure: whether a device counts as the host does, on a few numbers of each kind.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_TRIAL_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_TRIAL_H_

#include <ATen/core/Tensor.h>
#include <tensortap/asking.h>

namespace tensortap::torch_adapter {

// Zeros of both signs, subnormal numbers, extremes, and what is not finite, as far as the type has them. In host memory.
at::Tensor trial_numbers(at::ScalarType type);
// Whether a device measured these numbers right: counts and extremes exactly, sums nearly.
bool is_right(const at::Tensor& numbers, const tensortap_measured& measured);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_TRIAL_H_
