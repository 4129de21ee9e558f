// What operators on devices, and copies from them, mean for what is known of memory.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_USE_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_USE_H_

#include <span>

#include "source/pytorch/thread_calls.h"
#include "source/pytorch/torch_capture.h"

namespace tensortap::pytorch {

// At the begin of a call. Kernels that are no operators write into memory of devices, where nobody sees it: what an operator computes with
// is taken for written. What an operator of the host computes with is there: the program has waited for copies that fill it.
void note_use(TorchCapture& capture, ThreadCalls& calls, const tensortap_torch_call& call);

// At the end of a call: host memory whose copy from a device nobody has waited for.
void note_unfilled(TorchCapture& capture, ThreadCalls& calls, std::span<const tensortap_torch_tensor> tensors);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_USE_H_
