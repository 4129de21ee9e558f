// A lock in one byte, for what there are many of and what is held for moments.

#ifndef TENSORTAP_BASE_FLAG_LOCK_H_
#define TENSORTAP_BASE_FLAG_LOCK_H_

#include <sched.h>

#include <atomic>
#include <ctime>

namespace tensortap {

// Holds the flag from its making to its end; waits while another thread holds it. Not recursive. The flag outlives it. One locked
// instruction if no thread waits: std::atomic_flag::wait() would make every end of a lock look for threads to wake.
class FlagLock {
 public:
  explicit FlagLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) wait_until_free();
  }
  ~FlagLock() { flag_.clear(std::memory_order_release); }
  FlagLock(const FlagLock&) = delete;
  FlagLock& operator=(const FlagLock&) = delete;

 private:
  // A holder that was suspended gets the processor, also from a thread of a higher priority.
  void wait_until_free() const {
    constexpr int kLooks = 64;
    constexpr int kYields = 64;
    constexpr timespec kSleep{0, 50'000};
    for (int round = 0; flag_.test(std::memory_order_relaxed); ++round) {
      if (round < kLooks) continue;
      if (round < kLooks + kYields) {
        sched_yield();
      } else {
        nanosleep(&kSleep, nullptr);
      }
    }
  }

  std::atomic_flag& flag_;
};

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FLAG_LOCK_H_
