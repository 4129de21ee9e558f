// Which steps are captured: the filter that was asked for, --stop-after and the governor; and under which plan. One load for a step that is
// known.

#ifndef TENSORTAP_SESSION_STEP_GATE_H_
#define TENSORTAP_SESSION_STEP_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <set>

#include "plan/capture_spec.h"
#include "session/governor.h"

namespace tensortap {

// Thread-safe. A step is known by its number; runs at the same time that use the same number share the decision.
//
// A session that replaces its plan has two generations of it, 0 and 1 in turn: the one under which steps begin, and the one before, as long
// as steps that began under it run, or the next one. A step keeps the generation under which it began.
class StepGate {
 public:
  enum class Verdict : uint8_t {
    kUnknown = 0,
    kOutside,  // not one of the steps that were asked for
    kStopped,  // after --stop-after
    kThinned,  // the governor's
    kCaptured,
  };

  struct Known {
    Verdict verdict;
    uint8_t generation;
  };

  StepGate(const StepSet& steps, int64_t stop_after, Governor& governor) : steps_(&steps), stop_after_(stop_after), governor_(governor) {}

  // `kind`: Governor::begin_step(). A run that begins again without having ended restarts, under the decision that was made.
  bool begin(int64_t step, uint64_t run, int64_t now_ns, uint64_t kind = 0);
  void end(int64_t step, uint64_t run, int64_t now_ns);

  // The decision for events of a step, begun or not, and its generation. A thread that sees the generation also sees the decisions that the
  // plan made before offer().
  Known look(int64_t step) {
    const uint64_t known = slots_[slot_of(step)].load(std::memory_order_acquire);
    if (known != 0 && has_key(step) && known >> kStateBits == static_cast<uint64_t>(step)) return unpacked(known);
    return look_up(step);
  }
  Verdict verdict(int64_t step) { return look(step).verdict; }

  // Whether every step of the previous plan has ended, so that the next step that begins can start another plan.
  [[nodiscard]] bool is_free() const;
  // Takes back an offer() under which no step began. Returns the generation that is free for another plan, nothing while steps that began
  // under it still run.
  std::optional<uint8_t> withdraw();
  // Steps that begin from now on begin under the generation that withdraw() returned last, with these steps, which must stay as long as the
  // gate.
  void offer(const StepSet& steps);

  [[nodiscard]] uint64_t steps_seen() const;
  [[nodiscard]] uint64_t steps_captured() const;

 private:
  // A slot: the step, one bit for the generation, three for the verdict; 0 = empty.
  static constexpr int kStateBits = 4;
  static constexpr uint64_t kVerdictMask = 7;
  static constexpr size_t kSlots = 64;
  static constexpr size_t kMostKnown = 4096;

  struct Step {
    Verdict verdict = Verdict::kUnknown;
    uint8_t generation = 0;
    std::set<uint64_t> runs;  // that are in it; empty between steps
    Governor::Step governed;  // where the governor had the last word
  };

  static size_t slot_of(int64_t step) { return static_cast<uint64_t>(step) % kSlots; }
  static bool has_key(int64_t step) { return step >= 0 && static_cast<uint64_t>(step) >> (63 - kStateBits) == 0; }
  static Known unpacked(uint64_t slot) { return {static_cast<Verdict>(slot & kVerdictMask), static_cast<uint8_t>(slot >> 3 & 1U)}; }

  Known look_up(int64_t step);
  // What was asked for of a step, whatever the governor says.
  Verdict asked_locked(int64_t step);
  Step& remember_locked(int64_t step, Verdict verdict);

  const StepSet* steps_;  // of the present generation
  const StepSet* offered_ = nullptr;
  uint8_t generation_ = 0;
  std::array<uint32_t, 2> running_{};  // steps that began under a generation and have not ended
  const int64_t stop_after_;
  Governor& governor_;
  std::array<std::atomic<uint64_t>, kSlots> slots_{};
  mutable std::mutex mutex_;
  // What stays for thousands of steps comes in few large pieces: single ones would lie between the program's tensors, and the free memory
  // around them could never be joined.
  std::pmr::unsynchronized_pool_resource memory_{{.max_blocks_per_chunk = kMostKnown, .largest_required_pool_block = 1024}};
  std::pmr::map<int64_t, Step> known_{&memory_};
  std::pmr::deque<int64_t> order_{&memory_};
  uint64_t seen_ = 0;
  uint64_t captured_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_STEP_GATE_H_
