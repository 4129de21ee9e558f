// SIGXFSZ, which the kernel sends for a write beyond the caller's limit for files (`ulimit -f`) and which ends a program: it must not come
// of our writes.

#ifndef TENSORTAP_BASE_SIZE_SIGNAL_H_
#define TENSORTAP_BASE_SIZE_SIGNAL_H_

#include <cerrno>
#include <csignal>

namespace tensortap {

// Blocks SIGXFSZ on this thread while it lives. The program's own writes, on other threads or after it, get their signal.
class SizeSignalBlocked {
 public:
  SizeSignalBlocked();
  ~SizeSignalBlocked();
  SizeSignalBlocked(const SizeSignalBlocked&) = delete;
  SizeSignalBlocked& operator=(const SizeSignalBlocked&) = delete;

  // A write failed with EFBIG: takes back the signal that waits for it. One that waited before stays.
  void take_back() const;

 private:
  bool thread_is_ours_ = false;
  bool was_blocked_ = false;
  bool was_pending_ = false;
};

// For a thread that is wholly ours, at its beginning: blocks SIGXFSZ for good, so that single writes need not.
void block_size_signal_for_good();

// Takes a SIGXFSZ that waits for this thread. For handlers of signals, which block it by themselves.
void take_back_size_signal();

// Runs `call`, a system call that may make a file larger and answers with a negative number and errno: beyond the limit that is EFBIG and
// no signal.
template <class Call>
auto without_size_signal(Call&& call) {
  const SizeSignalBlocked blocked;
  const auto answer = call();
  if (answer < 0 && errno == EFBIG) blocked.take_back();
  return answer;
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_SIZE_SIGNAL_H_
