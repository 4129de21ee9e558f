// SessionControl: a running session takes what `tensortap set` asks of it, and answers.

#ifndef TENSORTAP_API_SESSION_CONTROL_H_
#define TENSORTAP_API_SESSION_CONTROL_H_

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/control_request.h"
#include "api/session_files.h"
#include "base/clock.h"
#include "session/capture_session.h"

namespace tensortap {

// Borrows the session. Thread-safe: one thread at a time looks, others go on.
//
// The control file is looked at when a step or an op begins, at most once in each interval: a coarse clock, then one stat. A plan changes
// where a step begins; a flush and the last ops need none.
class SessionControl {
 public:
  static constexpr int64_t kInterval = 200'000'000;
  // `interval`: ns from look to look.
  SessionControl(CaptureSession& session, std::unique_ptr<SessionFiles> files, int64_t interval = kInterval)
      : session_(session), files_(std::move(files)), interval_(interval) {}

  void step_begins(int64_t step) {
    if (due() || waits_for_step_.load(std::memory_order_relaxed) || step > last_before_return_.load(std::memory_order_relaxed)) look(step);
  }
  void op_begins() {
    if (due()) look(std::nullopt);
  }
  // Writes session.json again: after a kill it is all that describes the process.
  void tell_now();

 private:
  static constexpr int64_t kTellInterval = 1'000'000'000;
  static constexpr int64_t kNoReturn = std::numeric_limits<int64_t>::max();

  [[nodiscard]] bool due() const { return coarse_monotonic_ns() >= next_look_.load(std::memory_order_relaxed); }
  void look(std::optional<int64_t> step);
  [[nodiscard]] bool has_changed();
  void read();
  void take(std::optional<int64_t> step);
  // What became of each request of a control file, in their order.
  using Outcomes = std::vector<std::pair<uint64_t, Status>>;
  // Gives the session one plan with what all of them ask for, at this step.
  void change_plan(std::span<const ControlRequest> requests, int64_t step, Outcomes& outcomes);
  // Keeps the plan that is to return after the steps of a request that was taken; forgets an earlier one.
  void remember_return(const ControlRequest& last, CaptureSpec before);
  // Gives the session that plan when the steps have passed.
  void return_to_plan(int64_t step);
  Status write_out(const ControlRequest& request);
  // The last outcome is that of the request that is answered.
  void answer(const Outcomes& outcomes, std::optional<int64_t> from_step);
  void tell(int64_t now);

  CaptureSession& session_;
  const std::unique_ptr<SessionFiles> files_;
  const int64_t interval_;
  std::atomic<int64_t> next_look_{0};
  std::atomic<bool> waits_for_step_{false};
  std::atomic<int64_t> last_before_return_{kNoReturn};  // counted from 0 as `step` is
  std::mutex mutex_;                                    // of what is below
  struct stat seen_ {};
  std::optional<ControlRequest> request_;
  std::optional<CaptureSpec> returning_;
  uint64_t last_answered_ = 0;
  int64_t next_tell_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_API_SESSION_CONTROL_H_
