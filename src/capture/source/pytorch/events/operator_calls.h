// Calls of torch's operators as the adapter reports them: events of the capture.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_OPERATOR_CALLS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_OPERATOR_CALLS_H_

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// The functions of tensortap_torch_tracker of the same meaning (begin, end, collective_done); they may throw when memory runs out.
void* operator_begins(const tensortap_torch_call* call, uint64_t torch_thread);
void operator_ends(const tensortap_torch_call* call);
void collective_done(void* token, const tensortap_torch_tensor* tensors, uint32_t count, const char* error);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_OPERATOR_CALLS_H_
