#include "source/pytorch/events/call_keys.h"

#include <tensortap/capture.h>

#include "source/pytorch/identity/moved_module.h"
#include "source/pytorch/memory/output_arguments.h"
#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {
namespace {

// An operator that the program calls itself is of the level "api" where operators as such were not asked for.
uint8_t level_of(const tensortap_torch_call& call, uint32_t levels) {
  if ((call.flags & TENSORTAP_TORCH_CALL_KERNEL) != 0) return TENSORTAP_LEVEL_KERNEL;
  if ((call.flags & TENSORTAP_TORCH_CALL_COMPOSITE) != 0) return TENSORTAP_LEVEL_API;
  const bool only_as_api = (levels & 1U << TENSORTAP_LEVEL_API) != 0 && (levels & 1U << TENSORTAP_LEVEL_OP) == 0;
  return only_as_api && (call.flags & TENSORTAP_TORCH_CALL_DIRECT) != 0 ? TENSORTAP_LEVEL_API : TENSORTAP_LEVEL_OP;
}

}  // namespace

OpKey key_of(const tensortap_torch_call& call, const ThreadCalls& calls, uint32_t levels) {
  OpKey key;
  key.op = call.op;
  key.level = level_of(call, levels);
  add_place(key, calls);
  return key;
}

void add_place(OpKey& key, const ThreadCalls& calls) {
  if (!calls.nodes.empty()) {
    key.scope = calls.nodes.back().name;
    key.forward = calls.nodes.back().forward;
    if (key.forward != nullptr) return;
  } else if (calls.optimizer != 0) {
    key.scope = calls.optimizer;
  }
  key.position = source_position(true);
  ModuleId told = module_of(key.position);
  if (reported_code_runs()) told = moved_module(told, reported_code_root(), current_module());
  key.module = told != 0 ? told : current_module();
}

uint32_t phase_of(const ThreadCalls& calls, bool records_gradients) {
  if (!calls.nodes.empty()) return TENSORTAP_PHASE_BACKWARD;
  if (calls.optimizer != 0) return TENSORTAP_PHASE_UPDATE;
  return records_gradients ? TENSORTAP_PHASE_FORWARD : TENSORTAP_PHASE_INFERENCE;
}

}  // namespace tensortap::pytorch
