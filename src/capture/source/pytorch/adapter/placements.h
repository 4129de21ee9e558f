// How the tensors of an operator are spread over the job's devices, where the program called it with DTensors.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_PLACEMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_PLACEMENTS_H_

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <string>

#include "source/pytorch/adapter/attributes.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {

struct OperatorFacts;

// Keeps the arguments that are tensors of a Python class, for the calls below, whose arguments are the tensors inside these.
void note_wrapped(Frame& frame, c10::ArrayRef<const c10::IValue> arguments);

// The placements of the arguments of a call that begins on this thread, below one of the same operator on DTensors: a JSON object that maps
// "in0" or "in0[3]" to the placement that the Python package reports; "" when nothing is known. Takes the GIL. Leaves out arguments that
// were sent to another placement in between.
std::string placements_of(const CallArguments& arguments);

// The number by which autograd knows such a call, -1 when there is none. Below DTensors a call has no other number.
int64_t outer_sequence_number(const OperatorFacts& facts);

// Whether a call that begins or ends on this thread is below one on tensors of a Python class.
bool is_below_wrapped(const ThreadFrames& frames);

// Whether an argument of such a call is the tensor of a parameter: a leaf that requires a gradient.
bool holds_parameter(const CallArguments& arguments, uint32_t slot);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_PLACEMENTS_H_
