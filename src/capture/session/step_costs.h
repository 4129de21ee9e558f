// What captured steps cost, measured against steps of the same kind that were not captured.

#ifndef TENSORTAP_SESSION_STEP_COSTS_H_
#define TENSORTAP_SESSION_STEP_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json_fwd.h"
#include "session/recent_values.h"

namespace tensortap {

// Charges a captured step its time less the typical time of plain steps of the same `kind`. The next step pays for cold caches: its extra
// time is charged too, and it is not a plain sample. Where no plain step of the kind is known, the time inside the capture's own calls is
// charged instead. Times are in nanoseconds. Not thread-safe.
class StepCosts {
 public:
  // A step that ran without the capture from its beginning to its end.
  void add_plain(uint64_t kind, double wall);
  // The first step after a captured one, itself not captured.
  void add_after(uint64_t kind, double wall);
  // `in_calls`: the time inside the capture's own calls. `left_undone`: what those would have taken in addition, had nothing been sampled;
  // counts for cost(), not for what was spent.
  void add_captured(uint64_t kind, double wall, double in_calls, double left_undone);
  // A step that overlapped with a captured one on another thread.
  void add_disturbed(double wall) { count_step(wall); }

  [[nodiscard]] bool knows_plain(uint64_t kind) const;
  // All charges so far, never less than 0.
  [[nodiscard]] double charged() const;
  // How far the true sum of the charges may lie above charged(), given how much the measured times vary.
  [[nodiscard]] double uncertainty() const;
  // What the program takes by itself: for all steps so far, and for one.
  [[nodiscard]] double own_time() const;
  [[nodiscard]] double own_step() const;
  // What one captured step is expected to cost, and with a margin that shrinks with the number of those measured.
  [[nodiscard]] double cost() const;
  [[nodiscard]] double cost_at_most() const;
  // The capture looks at more or less from now on.
  void scale_cost(double factor) { costs_.scale(factor); }

  // What is captured from now on costs something else. Charges so far stay.
  void forget_costs() { costs_ = after_costs_ = {}; }

  // charged() / own_time(), null while that means nothing.
  [[nodiscard]] Json overhead() const;
  // {"plain_steps", "captured_steps", "steps_after", "by_own_calls", "uncertainty"}
  [[nodiscard]] Json basis() const;

 private:
  struct Kind {
    uint64_t kind = 0;
    uint64_t last_use = 0;
    RecentValues walls{};
  };
  // Null for a kind that is not known.
  [[nodiscard]] const Kind* find(uint64_t kind) const;
  Kind& find_or_add(uint64_t kind);
  // 0 while there are too few plain steps.
  double typical_plain(uint64_t kind);
  void count_step(double wall);

  std::vector<Kind> kinds_;
  RecentValues plain_noise_;  // of plain steps, in shares of the typical time
  RecentValues unseen_;       // time of captured steps outside of our calls, in the same
  RecentValues after_;        // extra time of the steps after them, in the same
  RecentValues costs_;        // of captured steps
  RecentValues after_costs_;
  uint64_t uses_ = 0;
  uint64_t steps_ = 0;
  double wall_ = 0;
  double charged_ = 0;
  uint64_t plain_steps_ = 0;
  uint64_t captured_measured_ = 0;
  uint64_t captured_by_calls_ = 0;
  uint64_t after_measured_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_STEP_COSTS_H_
