// Which op a call of an operator is, and of which phase.

#ifndef TENSORTAP_SOURCE_PYTORCH_CALL_KEYS_H_
#define TENSORTAP_SOURCE_PYTORCH_CALL_KEYS_H_

#include <cstdint>

#include "source/pytorch/adapter_interface.h"
#include "source/pytorch/op_identity.h"
#include "source/pytorch/thread_calls.h"

namespace tensortap::pytorch {

// The key of a call that begins on this thread, which has these `calls`; `levels`: tensortap_levels().
OpKey key_of(const tensortap_torch_call& call, const ThreadCalls& calls, uint32_t levels);
// enum tensortap_phase.
uint32_t phase_of(const tensortap_torch_call& call, const ThreadCalls& calls);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_CALL_KEYS_H_
