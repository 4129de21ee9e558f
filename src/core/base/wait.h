// Waiting for other threads to leave.

#ifndef TENSORTAP_BASE_WAIT_H_
#define TENSORTAP_BASE_WAIT_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace tensortap {

// How long a capture that ends waits for threads that are inside of it.
inline constexpr int64_t kLongestLeavingNs = 2'000'000'000;

// Waits until `count` is 0, at most for so many nanoseconds. Whether it is. Gives way to other threads meanwhile.
inline bool wait_for_zero(const std::atomic<int>& count, int64_t longest_ns = kLongestLeavingNs) {
  const int64_t begin = monotonic_ns();
  while (count.load(std::memory_order_seq_cst) != 0) {
    if (monotonic_ns() - begin > longest_ns) return false;
    sched_yield();
  }
  return true;
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_WAIT_H_
