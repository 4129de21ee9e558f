#include "base/size_signal.h"

#include <pthread.h>

#include <ctime>

namespace tensortap {
namespace {

thread_local bool blocked_for_good = false;

sigset_t size_signal() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  return only;
}

}  // namespace

SizeSignalBlocked::SizeSignalBlocked() : thread_is_ours_(blocked_for_good) {
  if (thread_is_ours_) return;
  const sigset_t only = size_signal();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &only, &before);
  was_blocked_ = sigismember(&before, SIGXFSZ) == 1;
  // Only then can one wait already.
  sigset_t pending;
  was_pending_ = was_blocked_ && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

SizeSignalBlocked::~SizeSignalBlocked() {
  if (thread_is_ours_ || was_blocked_) return;
  const sigset_t only = size_signal();
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

void SizeSignalBlocked::take_back() const {
  if (!was_pending_) take_back_size_signal();
}

void block_size_signal_for_good() {
  const sigset_t only = size_signal();
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  blocked_for_good = true;
}

void take_back_size_signal() {
  const int error = errno;
  const sigset_t only = size_signal();
  const timespec at_once{};
  sigtimedwait(&only, nullptr, &at_once);
  errno = error;
}

}  // namespace tensortap
