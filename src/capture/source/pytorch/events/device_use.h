// Updates the known state of memory for operators on devices and for copies from devices.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_DEVICE_USE_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_DEVICE_USE_H_

#include <span>

#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/session/torch_capture.h"

namespace tensortap::pytorch {

// At the begin of a call. Kernels that are no operators write into device memory unseen, so the memory that an operator computes with
// counts as written. Operands of an operator on the host are complete: the program has waited for the copies that fill them.
void note_use(TorchCapture& capture, ThreadCalls& calls, const tensortap_torch_call& call);

// At the end of a call: notes host memory that a copy from a device fills and that the program has not waited for.
void note_unfilled(TorchCapture& capture, ThreadCalls& calls, std::span<const tensortap_torch_tensor> tensors);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_DEVICE_USE_H_
