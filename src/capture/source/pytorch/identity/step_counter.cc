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
  model_phase_.store(0, std::memory_order_relaxed);  // until a model is called
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
  model_phase_.store(phase, std::memory_order_relaxed);
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

void StepCounter::root_module_begins(ModuleId module, const RootCall& call) {
  const std::lock_guard lock(mutex_);
  settle();
  const uint32_t before = model_phase();
  begin_step_of_model(module, call.holds_tensors);
  if (call.model_phase == 0 && !call.holds_tensors) return;  // a loss or a sampler belongs to what its model does
  model_phase_.store(call.model_phase == kPhaseStays ? before : call.model_phase, std::memory_order_relaxed);
}

void StepCounter::begin_step_of_model(ModuleId module, bool holds_tensors) {
  model_runs_.store(true, std::memory_order_relaxed);
  if (by_ != StepsBy::kProgram || source_ != Source::kModel) return;
  const bool follows = !holds_tensors && follows_models(module);
  if (models_.insert(module).second) {
    model_ran_ |= holds_tensors;
    return;
  }
  if (follows && model_ran_) return;
  const bool summed_up = optimizer_may_come_.load(std::memory_order_relaxed) && backward_ran_.load(std::memory_order_relaxed);
  if (summed_up) return;
  next();
  models_ = {module};
  model_ran_ = holds_tensors;
}

bool StepCounter::follows_models(ModuleId module) {
  if (!leaders_.contains(module) && !followers_.contains(module)) (model_ran_ ? followers_ : leaders_).insert(module);
  return followers_.contains(module);
}

void StepCounter::chosen_module_begins() {
  const std::lock_guard lock(mutex_);
  if (by_ != StepsBy::kModules) return;
  model_runs_.store(true, std::memory_order_relaxed);
  const uint32_t phase = model_phase();  // of the call around it
  if (chosen_ran_) next();
  chosen_ran_ = true;
  model_phase_.store(phase, std::memory_order_relaxed);
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
