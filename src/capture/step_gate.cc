#include "capture/step_gate.h"

#include <utility>

namespace tensortap {

StepGate::Verdict StepGate::decide_locked(int64_t step, bool begins, int64_t now_ns) {
  ++seen_;
  if (!steps_->contains(step)) return Verdict::kOutside;
  if (stop_after_ >= 0 && captured_ >= static_cast<uint64_t>(stop_after_)) return Verdict::kStopped;
  if (begins && !governor_.begin_step(now_ns)) return Verdict::kThinned;
  ++captured_;
  return Verdict::kCaptured;
}

void StepGate::remember_locked(int64_t step, Verdict verdict) {
  const auto [entry, is_new] = known_.try_emplace(step);
  entry->second.verdict = verdict;
  entry->second.generation = generation_;
  if (is_new) order_.push_back(step);
  if (has_key(step)) {
    const uint64_t state = static_cast<uint64_t>(generation_) << 3 | static_cast<uint64_t>(verdict);
    slots_[slot_of(step)].store(static_cast<uint64_t>(step) << kStateBits | state, std::memory_order_release);
  }
  while (known_.size() > kMostKnown) {
    const auto oldest = known_.find(order_.front());
    order_.pop_front();
    if (oldest != known_.end() && oldest->second.began.empty()) known_.erase(oldest);
  }
}

bool StepGate::begin(int64_t step, uint64_t run, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (offered_ != nullptr) {
    generation_ ^= 1U;
    steps_ = std::exchange(offered_, nullptr);
  }
  const auto found = known_.find(step);
  const bool shared = found != known_.end() && !found->second.began.empty();
  if (!shared) remember_locked(step, decide_locked(step, true, now_ns));
  Step& entry = known_[step];
  if (entry.began.empty()) ++running_[entry.generation];
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
  if (found->second.began.empty()) --running_[found->second.generation];
  const Verdict verdict = found->second.verdict;
  const bool governed = verdict == Verdict::kCaptured || verdict == Verdict::kThinned;
  if (governed && found->second.began.empty()) governor_.end_step(verdict == Verdict::kCaptured, began_ns, now_ns);
}

std::optional<uint8_t> StepGate::withdraw() {
  const std::lock_guard lock(mutex_);
  offered_ = nullptr;
  const uint8_t other = generation_ ^ 1U;
  return running_[other] == 0 ? std::optional(other) : std::nullopt;
}

void StepGate::offer(const StepSet& steps) {
  const std::lock_guard lock(mutex_);
  offered_ = &steps;
}

StepGate::Known StepGate::look_up(int64_t step) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(step);
  if (found != known_.end() && found->second.verdict != Verdict::kUnknown) return {found->second.verdict, found->second.generation};
  const Verdict verdict = decide_locked(step, false, 0);
  remember_locked(step, verdict);
  return {verdict, generation_};
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
