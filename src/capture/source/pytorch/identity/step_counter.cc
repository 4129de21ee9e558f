#include "source/pytorch/identity/step_counter.h"

namespace tensortap::pytorch {

void StepCounter::tell_begin() {
  wanted_ = tensortap_step_begin(session_, current(), run()) != 0;
  on_step_(context_, wanted_ || (by_ == StepsBy::kRounds && current() == 0));
}

void StepCounter::begin() { tell_begin(); }

void StepCounter::end() {
  const std::lock_guard lock(mutex_);
  lingers_.store(false, std::memory_order_relaxed);
  if (!paused_) tensortap_step_end(session_, current(), run());
}

void StepCounter::settle() {
  if (lingers_.exchange(false, std::memory_order_relaxed)) next();
}

void StepCounter::move_on() {
  const std::lock_guard lock(mutex_);
  settle();
}

void StepCounter::next() {
  model_runs_.store(true, std::memory_order_relaxed);
  begin_step(current() + 1, 0);
}

void StepCounter::begin_step(int64_t step, uint64_t run) {
  if (!paused_) tensortap_step_end(session_, current(), this->run());
  step_.store(step, std::memory_order_relaxed);
  run_.store(run, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  if (!paused_) tell_begin();
}

void StepCounter::round_begins(uint32_t model, uint32_t phase) {
  const std::lock_guard lock(mutex_);
  model_runs_.store(true, std::memory_order_relaxed);
  begin_step(rounds_[{model, phase}]++, phase);
}

void StepCounter::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  if (paused_ == paused) return;
  settle();
  paused_ = paused;
  if (paused) {
    tensortap_step_end(session_, current(), run());
  } else {
    tell_begin();
  }
}

void StepCounter::optimizer_ends(const char* name, const void* optimizer) {
  const std::lock_guard lock(mutex_);
  if (by_ != StepsBy::kProgram || source_ == Source::kProgram) return;
  settle();
  source_ = Source::kOptimizer;
  if (!optimizer_.ends_step(name, optimizer)) return;
  // Nothing of a step that is not captured is looked at, so the begin of the next one would go unnoticed.
  if (wanted_ && !paused_) {
    lingers_.store(true, std::memory_order_relaxed);
  } else {
    next();
  }
}

void StepCounter::optimizer_made(const void* optimizer) {
  const std::lock_guard lock(mutex_);
  if (source_ == Source::kModel) source_ = Source::kOptimizer;
  optimizer_.made(optimizer);
}

void StepCounter::optimizer_gone(const void* optimizer) {
  const std::lock_guard lock(mutex_);
  optimizer_.gone(optimizer);
}

void StepCounter::root_module_begins(ModuleId module) {
  const std::lock_guard lock(mutex_);
  settle();
  model_runs_.store(true, std::memory_order_relaxed);
  if (by_ != StepsBy::kProgram || source_ != Source::kModel) return;
  if (models_.insert(module).second) return;
  const bool summed_up = optimizer_may_come_.load(std::memory_order_relaxed) && backward_ran_.load(std::memory_order_relaxed);
  if (summed_up) return;
  next();
  models_ = {module};
}

void StepCounter::chosen_module_begins() {
  const std::lock_guard lock(mutex_);
  if (by_ != StepsBy::kModules) return;
  model_runs_.store(true, std::memory_order_relaxed);
  if (chosen_ran_) next();
  chosen_ran_ = true;
}

void StepCounter::program_steps() {
  const std::lock_guard lock(mutex_);
  if (by_ != StepsBy::kProgram) return;
  settle();
  source_ = Source::kProgram;
  next();
}

void PacingOptimizer::made(const void* optimizer) {
  if (optimizer != nullptr) newcomers_.insert(optimizer);
}

void PacingOptimizer::gone(const void* optimizer) {
  newcomers_.erase(optimizer);
  if (other_ == optimizer) other_ = nullptr;
  if (optimizer != nullptr && address_ == optimizer) known_ = false;
}

bool PacingOptimizer::takes_over(const std::string& name, const void* optimizer) {
  if (!known_) return true;
  if (optimizer == nullptr) return address_ == nullptr && name_ == name;
  if (optimizer == address_ || newcomers_.contains(optimizer)) return true;
  steps_of_other_ = other_ == optimizer ? steps_of_other_ + 1 : 1;
  other_ = optimizer;
  return steps_of_other_ > kMostOfAnother;
}

bool PacingOptimizer::ends_step(const std::string& name, const void* optimizer) {
  if (!takes_over(name, optimizer)) return false;
  known_ = true;
  name_ = name;
  address_ = optimizer;
  newcomers_.clear();
  other_ = nullptr;
  steps_of_other_ = 0;
  return true;
}

}  // namespace tensortap::pytorch
