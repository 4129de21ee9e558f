// Keeps the time that a capture takes below a share of the program's own (--budget): captures every k-th step, looks at samples of large
// tensors, leaves out ops when that is not enough, and says what it did.

#ifndef TENSORTAP_CAPTURE_GOVERNOR_H_
#define TENSORTAP_CAPTURE_GOVERNOR_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/json_fwd.h"
#include "trace/op_info.h"

namespace tensortap {

// The median of the last values: one step that the machine held up does not move it.
class RecentMedian {
 public:
  void add(int64_t value);
  // 0 without values.
  [[nodiscard]] int64_t value() const;

 private:
  static constexpr size_t kKept = 15;
  std::array<int64_t, kKept> values_{};
  size_t count_ = 0;
};

// Works on time spent: what each event took, what the writer thread took, and what captured steps were slower than skipped ones beyond
// that. A step is captured when all spending up to its end is expected to stay below the target. A program that never begins a step
// is governed by windows of time in the same way. The first step (window) is always captured, sampled as soon as it costs too
// much, so that even one step gives every op's record. Times are passed in, so that a test can make them up. Thread-safe.
class Governor {
 public:
  struct Thinning {
    uint64_t sample_limit = 0;  // elements to look at in one tensor, 0 = all
    bool keep_data = true;
  };

  // `budget` 0: never thins. `keeps_data`: records come with tensors, which cannot be sampled: ops are left out instead.
  Governor(double budget, bool keeps_data) : budget_(budget), target_(budget * kShareOfBudget), keeps_data_(keeps_data) {}

  [[nodiscard]] bool active() const { return budget_ > 0; }
  // Whether the program ever began a step.
  [[nodiscard]] bool counts_steps() const { return counts_steps_.load(std::memory_order_relaxed); }

  // Whether the step that begins is captured.
  bool begin_step(int64_t now_ns);
  // `began_ns`: as passed to begin_step().
  void end_step(bool captured, int64_t began_ns, int64_t now_ns);
  // For programs without steps: whether events are captured at this time.
  bool window_open(int64_t now_ns);

  // Whether an op has its turn in a captured step.
  [[nodiscard]] bool takes_op(OpId op, int64_t step) const;
  // How much of the next tensor to take.
  [[nodiscard]] Thinning thinning(int64_t now_ns) const;
  // Says what an event cost. `skipped_elements`: those that a full look would have taken in addition.
  void spend(int64_t nanoseconds, uint64_t elements, uint64_t skipped_elements);
  void count_sampled() { sampled_.fetch_add(1, std::memory_order_relaxed); }
  void count_left_out() { left_out_.fetch_add(1, std::memory_order_relaxed); }
  void count_data_left_out() { data_left_out_.fetch_add(1, std::memory_order_relaxed); }

  // {"budget", "measured_overhead", "step_every", "steps_seen", ...}; null when there is no budget. `ops_left_out`: how many ops were
  // left out at least once.
  [[nodiscard]] Json report(uint64_t ops_left_out) const;

 private:
  // Room for what cannot be seen from here: the runtime's own work for a callback, caches that a look leaves colder.
  static constexpr double kShareOfBudget = 0.6;
  static constexpr int kMostLevels = 8;

  [[nodiscard]] bool affordable_locked() const;
  [[nodiscard]] double mean_base_locked() const;
  void learn_locked(int64_t cost, int64_t wall);
  void choose_level_locked();

  const double budget_;
  const double target_;
  const bool keeps_data_;
  std::atomic<bool> counts_steps_{false};
  std::atomic<int64_t> spent_ns_{0};
  std::atomic<uint64_t> elements_{0};
  std::atomic<uint64_t> skipped_elements_{0};
  std::atomic<uint64_t> sampled_{0};
  std::atomic<uint64_t> left_out_{0};
  std::atomic<uint64_t> data_left_out_{0};
  std::atomic<int> level_{0};
  // Of the step or window that is being captured.
  std::atomic<int64_t> began_ns_{0};
  std::atomic<int64_t> spent_at_begin_{0};
  std::atomic<int64_t> allowance_ns_{0};
  std::atomic<int64_t> window_until_ns_{INT64_MIN};
  std::atomic<bool> window_is_open_{true};

  mutable std::mutex mutex_;
  uint64_t steps_seen_ = 0;
  uint64_t steps_ended_ = 0;
  uint64_t steps_captured_ = 0;
  int active_steps_ = 0;
  uint64_t skipped_at_begin_ = 0;
  int64_t wall_ns_ = 0;      // of all steps that ended
  double predicted_ns_ = 0;  // cost of a captured step at the present level
  RecentMedian wall_captured_;
  RecentMedian wall_skipped_;
  uint64_t skipped_steps_ = 0;
  int64_t first_ns_ = 0;  // first event of a program without steps
  int64_t last_ns_ = 0;
  uint64_t windows_ = 0;
  uint64_t windows_captured_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_GOVERNOR_H_
