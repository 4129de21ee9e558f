// A lock in one byte, for what there are many of and what is held for moments.

#ifndef TENSORTAP_BASE_FLAG_LOCK_H_
#define TENSORTAP_BASE_FLAG_LOCK_H_

#include <atomic>

namespace tensortap {

// Holds the flag from its making to its end; waits while another thread holds it. Not recursive. The flag outlives it.
class FlagLock {
 public:
  explicit FlagLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  ~FlagLock() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  FlagLock(const FlagLock&) = delete;
  FlagLock& operator=(const FlagLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FLAG_LOCK_H_
