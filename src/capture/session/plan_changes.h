// PlanChanges: the last plan of a session, and each change while it ran: by whom and from which step on.

#ifndef TENSORTAP_SESSION_PLAN_CHANGES_H_
#define TENSORTAP_SESSION_PLAN_CHANGES_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "plan/capture_spec.h"

namespace tensortap {

struct PlanChange {
  std::string by;     // "tensortap set", "the program", the config that is followed
  std::string asked;  // in JSON, "" = nothing to tell
};

// Keeps the first thousand. Thread-safe.
class PlanChanges {
 public:
  explicit PlanChanges(CaptureSpec opened) : asked_(std::move(opened)) {}

  // A plan was given; steps are to begin under it.
  void add(uint32_t generation, PlanChange change, CaptureSpec spec);
  // The spec of the plan that was given last.
  [[nodiscard]] CaptureSpec asked() const;
  // Whether any was added under which no step began yet; one load.
  [[nodiscard]] bool wait() const { return waiting_.load(std::memory_order_relaxed); }
  // A step begins under the plan of this generation, which has what those before it asked for.
  void begun(uint32_t generation, int64_t step);

  // [{"step", "time", "by", "asked"}], "step" null where none began under it.
  [[nodiscard]] Json to_json() const;

 private:
  static constexpr size_t kMostKept = 1000;
  struct Kept {
    uint32_t generation;
    int64_t step;  // -1 = none yet
    std::string time;
    PlanChange change;
  };
  std::atomic<bool> waiting_{false};
  mutable std::mutex mutex_;  // guards what follows
  CaptureSpec asked_;
  std::vector<Kept> kept_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_PLAN_CHANGES_H_
