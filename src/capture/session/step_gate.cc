#include "session/step_gate.h"

#include <utility>

namespace tensortap {

StepGate::Verdict StepGate::asked_locked(int64_t step) {
  ++seen_;
  if (!steps_->contains(step)) return Verdict::kOutside;
  if (stop_after_ >= 0 && captured_ >= static_cast<uint64_t>(stop_after_)) return Verdict::kStopped;
  return Verdict::kCaptured;
}

StepGate::Step& StepGate::remember_locked(int64_t step, Verdict verdict) {
  if (verdict == Verdict::kCaptured) ++captured_;
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
    if (oldest != known_.end() && oldest->second.runs.empty()) known_.erase(oldest);
  }
  return known_[step];
}

bool StepGate::begin(int64_t step, uint64_t run, int64_t now_ns, uint64_t kind) {
  const std::lock_guard lock(mutex_);
  if (offered_ != nullptr) {
    generation_ ^= 1U;
    steps_ = std::exchange(offered_, nullptr);
  }
  const auto found = known_.find(step);
  if (found != known_.end() && !found->second.runs.empty()) {
    if (found->second.runs.contains(run)) found->second.governed.began_ns = now_ns;
    found->second.runs.insert(run);
    return found->second.verdict == Verdict::kCaptured;
  }
  Verdict verdict = asked_locked(step);
  Governor::Step governed;
  if (verdict == Verdict::kCaptured) {
    governed = governor_.begin_step(now_ns, kind);
    if (!governed.captured) verdict = Verdict::kThinned;
  }
  Step& entry = remember_locked(step, verdict);
  entry.governed = governed;
  entry.runs.insert(run);
  ++running_[entry.generation];
  return verdict == Verdict::kCaptured;
}

void StepGate::end(int64_t step, uint64_t run, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(step);
  if (found == known_.end() || found->second.runs.erase(run) == 0 || !found->second.runs.empty()) return;
  --running_[found->second.generation];
  const Verdict verdict = found->second.verdict;
  if (verdict == Verdict::kCaptured || verdict == Verdict::kThinned) governor_.end_step(found->second.governed, now_ns);
}

bool StepGate::is_free() const {
  const std::lock_guard lock(mutex_);
  return running_[generation_ ^ 1U] == 0;
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
  const Verdict verdict = asked_locked(step);
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
