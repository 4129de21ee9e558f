#include "source/pytorch/running_operations.h"

#include <algorithm>

namespace tensortap::pytorch {

CallPlace RunningOperations::next_call(uint64_t op, uint64_t round, uint32_t model_phase, bool on_its_own) {
  OpIdentity* const parent = on_its_own ? nullptr : innermost();
  if (parent != nullptr) return {parent, frames_[depth_ - 1].calls[op]++, model_phase};
  if (round_ != round) {
    outside_.clear();
    round_ = round;
  }
  return {nullptr, outside_[op]++, model_phase};
}

size_t RunningOperations::begin(OpIdentity* operation) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  frames_[depth_].operation = operation;
  frames_[depth_].calls.clear();
  return depth_++;
}

void RunningOperations::end(size_t before) { depth_ = std::min(depth_, before); }

}  // namespace tensortap::pytorch
