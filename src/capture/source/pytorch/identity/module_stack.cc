#include "source/pytorch/identity/module_stack.h"

#include <algorithm>

namespace tensortap::pytorch {
namespace {

constexpr uint32_t kKept = 256;

// No constructor and no destructor: daemon threads use it while the process ends.
struct ModuleStack {
  uint32_t depth;
  uint32_t step_depth;  // 1 + that of the outermost module whose calls are steps, 0 = none runs
  ModuleId modules[kKept];
};

constinit thread_local ModuleStack stack{};

}  // namespace

ModuleId current_module() { return stack.depth == 0 ? 0 : stack.modules[std::min(stack.depth, kKept) - 1]; }

uint32_t push_module(ModuleId module) {
  ModuleStack& own = stack;
  if (own.depth < kKept) own.modules[own.depth] = module;
  return own.depth++;
}

bool begins_step_at(uint32_t depth) {
  ModuleStack& own = stack;
  if (own.step_depth != 0) return false;
  own.step_depth = depth + 1;
  return true;
}

void pop_modules(uint32_t depth) {
  ModuleStack& own = stack;
  own.depth = std::min(own.depth, depth);
  if (own.step_depth > depth) own.step_depth = 0;
}

}  // namespace tensortap::pytorch
