#include "source/pytorch/step_counter.h"

namespace tensortap::pytorch {

void StepCounter::tell_begin() {
  wanted_ = tensortap_step_begin(session_, current(), run()) != 0;
  on_step_(context_, wanted_ || (by_rounds_ && current() == 0));
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
  if (by_rounds_ || source_ == Source::kProgram) return;
  settle();
  source_ = Source::kOptimizer;
  if (optimizer_name_.empty()) {
    optimizer_name_ = name;
    optimizer_ = optimizer;
  }
  if (optimizer_name_ != name || optimizer_ != optimizer) return;
  // Of a step that is not captured nothing is looked at, so the begin of the next one would go unnoticed.
  if (wanted_ && !paused_) {
    lingers_.store(true, std::memory_order_relaxed);
  } else {
    next();
  }
}

void StepCounter::optimizer_made() {
  const std::lock_guard lock(mutex_);
  if (source_ == Source::kModel) source_ = Source::kOptimizer;
}

void StepCounter::root_module_begins() {
  const std::lock_guard lock(mutex_);
  settle();
  model_runs_.store(true, std::memory_order_relaxed);
  if (by_rounds_ || source_ != Source::kModel) return;
  // A backward pass says that an optimizer will come: several calls may make up its step.
  if (model_ran_ && !backward_ran_.load(std::memory_order_relaxed)) next();
  model_ran_ = true;
}

void StepCounter::program_steps() {
  const std::lock_guard lock(mutex_);
  if (by_rounds_) return;
  settle();
  source_ = Source::kProgram;
  next();
}

}  // namespace tensortap::pytorch
