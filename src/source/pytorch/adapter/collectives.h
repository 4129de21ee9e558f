// Collective operators return before their work is done: what they write is reported when it is.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_

#include <ATen/core/ivalue.h>

#include "source/pytorch/adapter_interface.h"

namespace tensortap::torch_adapter {

// Looks for the c10d::Work among the returns of a collective and arranges that tracker.collective_done() is called with the returned
// tensors once it is complete. False when there is no such work; the tensors are then what they are.
bool when_complete(c10::ArrayRef<const c10::IValue> returns, const tensortap_torch_tracker& tracker, void* token);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_
