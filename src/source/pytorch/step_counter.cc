#include "source/pytorch/step_counter.h"

namespace tensortap {

void StepCounter::tell_begin(int64_t step) { on_step_(context_, tensortap_step_begin(session_, step, 0) != 0); }

void StepCounter::begin() { tell_begin(0); }

void StepCounter::end() {
  const std::lock_guard lock(mutex_);
  if (!paused_) tensortap_step_end(session_, current(), 0);
}

void StepCounter::next() {
  const int64_t ended = step_.load(std::memory_order_relaxed);
  if (!paused_) tensortap_step_end(session_, ended, 0);
  step_.store(ended + 1, std::memory_order_relaxed);
  if (!paused_) tell_begin(ended + 1);
}

void StepCounter::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  if (paused_ == paused) return;
  paused_ = paused;
  if (paused) {
    tensortap_step_end(session_, current(), 0);
  } else {
    tell_begin(current());
  }
}

void StepCounter::optimizer_ends(const char* name, const void* optimizer) {
  const std::lock_guard lock(mutex_);
  if (source_ == Source::kProgram) return;
  source_ = Source::kOptimizer;
  if (optimizer_name_.empty()) {
    optimizer_name_ = name;
    optimizer_ = optimizer;
  }
  if (optimizer_name_ == name && optimizer_ == optimizer) next();
}

void StepCounter::optimizer_made() {
  const std::lock_guard lock(mutex_);
  if (source_ == Source::kModel) source_ = Source::kOptimizer;
}

void StepCounter::root_module_begins() {
  const std::lock_guard lock(mutex_);
  if (source_ != Source::kModel) return;
  // A backward pass says that an optimizer will come: several calls may make up its step.
  if (model_ran_ && !backward_ran_.load(std::memory_order_relaxed)) next();
  model_ran_ = true;
}

void StepCounter::program_steps() {
  const std::lock_guard lock(mutex_);
  source_ = Source::kProgram;
  next();
}

}  // namespace tensortap
