#include "capture/step_gate.h"

namespace tensortap {

StepGate::Verdict StepGate::decide_locked(int64_t step, bool begins, int64_t now_ns) {
  ++seen_;
  if (!steps_.contains(step)) return Verdict::kOutside;
  if (stop_after_ >= 0 && captured_ >= static_cast<uint64_t>(stop_after_)) return Verdict::kStopped;
  if (begins && !governor_.begin_step(now_ns)) return Verdict::kThinned;
  ++captured_;
  return Verdict::kCaptured;
}

void StepGate::remember_locked(int64_t step, Verdict verdict) {
  const auto [entry, is_new] = known_.try_emplace(step);
  entry->second.verdict = verdict;
  if (is_new) order_.push_back(step);
  if (has_key(step)) {
    const uint64_t packed = static_cast<uint64_t>(step) << kVerdictBits | static_cast<uint64_t>(verdict);
    slots_[slot_of(step)].store(packed, std::memory_order_relaxed);
  }
  while (known_.size() > kMostKnown) {
    const auto oldest = known_.find(order_.front());
    order_.pop_front();
    if (oldest != known_.end() && oldest->second.began.empty()) known_.erase(oldest);
  }
}

bool StepGate::begin(int64_t step, uint64_t run, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(step);
  const bool shared = found != known_.end() && !found->second.began.empty();
  if (!shared) remember_locked(step, decide_locked(step, true, now_ns));
  Step& entry = known_[step];
  entry.began[run] = now_ns;
  return entry.verdict == Verdict::kCaptured;
}

void StepGate::end(int64_t step, uint64_t run, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(step);
  if (found == known_.end()) return;
  const auto began = found->second.began.find(run);
  if (began == found->second.began.end()) return;
  const int64_t began_ns = began->second;
  found->second.began.erase(began);
  const Verdict verdict = found->second.verdict;
  const bool governed = verdict == Verdict::kCaptured || verdict == Verdict::kThinned;
  if (governed && found->second.began.empty()) governor_.end_step(verdict == Verdict::kCaptured, began_ns, now_ns);
}

StepGate::Verdict StepGate::look_up(int64_t step) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(step);
  if (found != known_.end() && found->second.verdict != Verdict::kUnknown) return found->second.verdict;
  const Verdict verdict = decide_locked(step, false, 0);
  remember_locked(step, verdict);
  return verdict;
}

uint64_t StepGate::steps_seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

uint64_t StepGate::steps_captured() const {
  const std::lock_guard lock(mutex_);
  return captured_;
}

}  // namespace tensortap
