// SessionProblems: whether a session is on, and what went wrong in it.

#ifndef TENSORTAP_SESSION_SESSION_PROBLEMS_H_
#define TENSORTAP_SESSION_SESSION_PROBLEMS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "session/fork_guard.h"

namespace tensortap {

// Keeps the first error of a session and one sentence for each problem and each note of the source, up to 100. Says the first error once on
// stderr. Thread-safe.
class SessionProblems {
 public:
  // Why a session is off, as bits.
  enum Off : uint32_t { kDisabled = 1U << 0, kForked = 1U << 1, kFailed = 1U << 2, kClosed = 1U << 3, kFromStart = 1U << 4 };
  static constexpr uint32_t kOffForGood = kForked | kFailed | kClosed | kFromStart;
  static constexpr uint32_t kLeftAlone = kForked | kClosed | kFromStart;  // nothing is written or ended any more

  [[nodiscard]] bool is_on() const { return off_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] bool is_off_for(uint32_t bits) const { return (off_.load(std::memory_order_relaxed) & bits) != 0; }
  // Sets bits; returns those that were set before.
  uint32_t switch_off(uint32_t bits) { return off_.fetch_or(bits); }
  void switch_on(uint32_t bits) { off_.fetch_and(~bits); }
  // For those that watch or set the bits by themselves: a fork handler, a handler of signals. Valid as long as this object.
  [[nodiscard]] std::atomic<uint32_t>* off() { return &off_; }

  // From now on a child of fork() has the bit kForked. Once.
  void watch_forks() { forks_.emplace(&off_, kForked); }
  // Something runs while the session is off. In a forked child, the parent's session counts the process.
  void runs_unseen();
  // The children that were counted.
  [[nodiscard]] uint32_t children() const { return forks_.has_value() ? forks_->children() : 0; }

  // Switches the session off for good, and reports it once on stderr.
  void fail(std::string_view why) noexcept;
  // Notes an error: a problem that is the session's first error unless it is a limit that the user gave.
  void note_error(const Status& status);
  // Notes the failure of one record. If the layout cannot store the record, that is a problem and not an error.
  void note_failure(const Status& status);
  // Adds a sentence to the list of problems.
  void note_problem(const Status& status);

  // Adds a sentence about something that is not a problem.
  void add_note(std::string_view note);

  // OK when there was none.
  [[nodiscard]] Status first_error() const;
  [[nodiscard]] std::vector<std::string> sentences() const;
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  std::atomic<uint32_t> off_{0};
  std::optional<ForkGuard> forks_;
  mutable std::mutex mutex_;  // guards what follows
  Status first_error_;
  std::vector<std::string> sentences_;
  std::vector<std::string> notes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SESSION_PROBLEMS_H_
