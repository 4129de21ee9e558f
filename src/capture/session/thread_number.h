// The numbers of a thread: in records, and for the system.

#ifndef TENSORTAP_SESSION_THREAD_NUMBER_H_
#define TENSORTAP_SESSION_THREAD_NUMBER_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace tensortap {

// The number of the calling thread in records, the same at every call: from 0, in the order in which threads came.
inline uint32_t thread_number() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// The system's number of the calling thread. May be called in a signal handler.
inline uint32_t system_thread_number() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_THREAD_NUMBER_H_
