// SignalsBlocked: for starting threads of ours in a host process.

#ifndef TENSORTAP_BASE_SIGNALS_BLOCKED_H_
#define TENSORTAP_BASE_SIGNALS_BLOCKED_H_

#include <csignal>

namespace tensortap {

// Blocks all signals for the calling thread while it lives. A thread that starts meanwhile takes no signals: handlers of the program expect
// the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace tensortap

#endif  // TENSORTAP_BASE_SIGNALS_BLOCKED_H_
