// The callbacks that torch calls at the beginning and end of operators, autograd nodes and scopes.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_OBSERVER_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_OBSERVER_H_

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

// Registers the callbacks; those for operators and nodes are off until observe(). Once per process; they stay for good.
void register_callbacks(const tensortap_torch_tracker* tracker);

// Turns the callbacks for operators and nodes on or off. Any thread. See tensortap_torch_adapter::observe.
void observe(bool enabled, uint32_t levels);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_OBSERVER_H_
