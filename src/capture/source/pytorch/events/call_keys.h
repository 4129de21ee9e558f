// Which op a call of an operator is, and of which phase.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_KEYS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_KEYS_H_

#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/events/thread_calls.h"
#include "source/pytorch/identity/op_identity.h"

namespace tensortap::pytorch {

// The key of a call that begins on this thread, which has these `calls`; `levels`: tensortap_levels().
OpKey key_of(const tensortap_torch_call& call, const ThreadCalls& calls, uint32_t levels);
// Puts the place where the thread is now into the key of what it runs there: module, line, autograd node or optimizer.
void add_place(OpKey& key, const ThreadCalls& calls);
// enum tensortap_phase.
uint32_t phase_of(const ThreadCalls& calls, bool records_gradients);
inline uint32_t phase_of(const tensortap_torch_call& call, const ThreadCalls& calls) {
  return phase_of(calls, (call.flags & TENSORTAP_TORCH_CALL_GRAD_MODE) != 0);
}

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_CALL_KEYS_H_
