// The number that a thread has in records: from 0, in the order in which threads came.

#ifndef TENSORTAP_CAPTURE_THREAD_NUMBER_H_
#define TENSORTAP_CAPTURE_THREAD_NUMBER_H_

#include <atomic>
#include <cstdint>

namespace tensortap {

// Of the thread that asks; the same at every call.
inline uint32_t thread_number() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_THREAD_NUMBER_H_
