// Which of the nested calls of the dispatcher is "the operator".

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_CANONICAL_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_CANONICAL_H_

#include <ATen/record_function.h>

#include "source/pytorch/adapter/operator_facts.h"

namespace tensortap::torch_adapter {

// The arguments of a record. A boxed call gives the whole stack of its interpreter, of which only the schema's share is the operator's.
c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& record, const OperatorFacts& facts);
c10::ArrayRef<const c10::IValue> returns_of(const at::RecordFunction& record, const OperatorFacts& facts);

// Whether a call that no captured call contains is an operator, or one to look through: composites, wrappers of autocast, of functorch, of
// dispatch modes and of tensor subclasses, whose inner calls are the operators; calls on tensors without values.
// The operators so found are those that a TorchDispatchMode sees.
bool is_operator(const OperatorFacts& facts, c10::ArrayRef<const c10::IValue> arguments);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_CANONICAL_H_
