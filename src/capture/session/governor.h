// Keeps the time that a capture takes below a share of the program's own time (--budget): draws the steps that are captured, looks at
// samples of large tensors, leaves out ops when that is not enough, and reports what it did.

#ifndef TENSORTAP_SESSION_GOVERNOR_H_
#define TENSORTAP_SESSION_GOVERNOR_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/json_fwd.h"
#include "session/step_costs.h"
#include "trace/op_info.h"

namespace tensortap {

// Measures what captured steps cost (StepCosts) and draws the next ones at random, at the rate that the budget allows by that measure. All
// charges so far stay inside the budget too, with a margin as wide as they are uncertain. The first step is always captured, sampled as
// soon as it costs too much, so that even one step gives every op's record. Now and then some steps in a row are not captured, however
// little a captured one costs: there would be nothing to compare with. A program that never begins a step is governed by windows of time,
// by what each event and the writer thread took. Times are passed in, so that a test can make them up. Thread-safe.
class Governor {
 public:
  struct Thinning {
    uint64_t sample_limit = 0;  // elements to look at in one tensor, 0 = all
    bool keep_data = true;
  };

  // One step from its beginning to its end.
  struct Step {
    bool captured = false;
    bool follows = false;  // the first one after a captured one
    bool alone = false;    // no captured one was under way when it began
    uint64_t kind = 0;
    uint64_t turn = 0;  // number of captured steps that had begun or ended
    int64_t began_ns = 0;
    int64_t spent_ns = 0;  // all spending before it
  };

  // `budget` 0: never thins. `keeps_data`: records come with tensors, which cannot be sampled: ops are left out instead. `seed`: of the
  // draws; with equal times the same steps are captured again.
  Governor(double budget, bool keeps_data, uint64_t seed = 1) : budget_(budget), keeps_data_(keeps_data), random_(seed) {}

  [[nodiscard]] bool active() const { return budget_.load(std::memory_order_relaxed) > 0; }
  // Goes on with another budget, of a governor that has one, and for records that come with tensors or without. What a captured step costs
  // is learned anew where that changes, beginning with the next step.
  void aim(double budget, bool keeps_data);
  // Whether the program ever began a step.
  [[nodiscard]] bool counts_steps() const { return counts_steps_.load(std::memory_order_relaxed); }

  // Decides whether the step that begins is captured. Steps of one `kind` take the same time by themselves, such as those with inputs of
  // the same shapes; 0 = unknown.
  Step begin_step(int64_t now_ns, uint64_t kind = 0);
  // `step`: what begin_step() returned.
  void end_step(const Step& step, int64_t now_ns);
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

  // {"budget", "measured_overhead", "by", "measured_by", "seen", "captured", ...}; null when there is no budget. `ops_left_out`: how many
  // ops were left out at least once.
  [[nodiscard]] Json report(uint64_t ops_left_out) const;

 private:
  static constexpr int kMostLevels = 8;

  [[nodiscard]] bool wants_step_locked(uint64_t kind);
  [[nodiscard]] double rate_locked() const;
  [[nodiscard]] double next_random_locked();
  void begin_captured_locked(const Step& step, bool first);
  void end_captured_locked(const Step& step, double wall);
  void choose_level_locked();
  // The share of the program's time that may be spent.
  [[nodiscard]] double target() const;

  std::atomic<double> budget_;
  std::atomic<bool> keeps_data_;
  std::atomic<bool> counts_steps_{false};
  std::atomic<int64_t> spent_ns_{0};
  std::atomic<uint64_t> elements_{0};
  std::atomic<uint64_t> skipped_elements_{0};
  std::atomic<uint64_t> sampled_{0};
  std::atomic<uint64_t> left_out_{0};
  std::atomic<uint64_t> data_left_out_{0};
  std::atomic<int> level_{0};
  // For the step or window that is being captured.
  std::atomic<int64_t> began_ns_{0};
  std::atomic<int64_t> spent_at_begin_{0};
  std::atomic<int64_t> allowance_ns_{0};
  std::atomic<int64_t> window_until_ns_{INT64_MIN};
  std::atomic<bool> window_is_open_{true};

  mutable std::mutex mutex_;
  StepCosts costs_;
  uint64_t random_;  // the generator's state
  uint64_t steps_seen_ = 0;
  uint64_t steps_captured_ = 0;
  bool knows_cost_ = false;     // a captured step began since what is captured changed
  int captured_now_ = 0;        // captured steps that are under way
  uint64_t turns_ = 0;          // captured steps that began or ended
  bool last_captured_ = false;  // no step began since a captured one ended
  int pause_ = 0;               // steps that are not captured whatever they cost
  uint64_t skipped_at_begin_ = 0;
  int64_t first_ns_ = 0;  // first event of a program without steps
  int64_t last_ns_ = 0;
  uint64_t windows_ = 0;
  uint64_t windows_captured_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_GOVERNOR_H_
