#include "source/pytorch/identity/running_operations.h"

#include <algorithm>

namespace tensortap::pytorch {

CallPlace RunningOperations::next_call(uint64_t op, const Round& round, uint32_t pass) {
  OpIdentity* const parent = pass != 0 ? nullptr : innermost();
  if (parent != nullptr) return {parent, frames_[depth_ - 1].calls[op]++, round.model_phase, 0};
  if (round_ != round.number) {
    outside_.clear();
    round_ = round.number;
  }
  return {nullptr, outside_[op]++, round.model_phase, pass};
}

size_t RunningOperations::begin(OpIdentity* operation) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  frames_[depth_].operation = operation;
  frames_[depth_].began_ns = -1;
  frames_[depth_].calls.clear();
  return depth_++;
}

void RunningOperations::end(size_t before) { depth_ = std::min(depth_, before); }

}  // namespace tensortap::pytorch
