#include "source/pytorch/module_stack.h"

#include <algorithm>

namespace tensortap::pytorch {
namespace {

constexpr uint32_t kKept = 256;

// No constructor and no destructor: daemon threads use it while the process ends.
struct ModuleStack {
  uint32_t depth;
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

void pop_modules(uint32_t depth) { stack.depth = std::min(stack.depth, depth); }

}  // namespace tensortap::pytorch
