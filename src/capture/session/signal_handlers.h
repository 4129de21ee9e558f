// Hearing of the signals that end a program, without being in anybody's way.

#ifndef TENSORTAP_SESSION_SIGNAL_HANDLERS_H_
#define TENSORTAP_SESSION_SIGNAL_HANDLERS_H_

#include <csignal>

namespace tensortap {

// Hears of signals that may end the program: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT. Both functions run in the handler of the signal, on
// one thread at a time. A fault inside them ends the call and nothing else.
class CrashListener {
 public:
  CrashListener() = default;
  virtual ~CrashListener() = default;
  CrashListener(const CrashListener&) = delete;
  CrashListener& operator=(const CrashListener&) = delete;
  // Before the program's own handler, or the system's default, has it.
  virtual void crashed(int signal, const siginfo_t& info, const void* context) noexcept = 0;
  // The program's own handler dealt with it, and the program goes on.
  virtual void survived() noexcept = 0;
};

// Handlers are installed while a listener exists. The program's own handlers, set before or after, run as they would without us, with their
// flags and masks. If the program has none, the signal ends it as it would have, with its number, its place and its core dump. False when
// no memory is left to remember the listener. A listener is not called any more once remove_crash_listener() has returned. Thread-safe.
bool add_crash_listener(CrashListener* listener);
void remove_crash_listener(CrashListener* listener);

// For listeners: runs `body(context)`; false when it met a fault, which ended it at that point. It must hold nothing that has to be
// released.
bool survives_faults(void (*body)(void* context), void* context);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SIGNAL_HANDLERS_H_
