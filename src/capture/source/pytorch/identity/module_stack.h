// The modules that run on each thread, outermost first.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_STACK_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_STACK_H_

#include <cstdint>

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// Puts a module on this thread's stack and returns how deep the stack was. 0 is a module that has no number. Allocates nothing; below
// 256 modules the innermost that was kept represents those it calls.
uint32_t push_module(ModuleId module);
// For a module at this depth whose calls are steps: whether it runs outside of every other module whose calls are steps.
bool begins_step_at(uint32_t depth);
// Removes what lies above `depth`, as push_module() returned it: also what an exception or an abandoned generator left there.
void pop_modules(uint32_t depth);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_STACK_H_
