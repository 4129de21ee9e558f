#include "capture/signal_handlers.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

namespace tensortap {
namespace {

constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kMostListeners = 16;
// A program that lives on such signals, as some language runtimes do, is told of no longer.
constexpr uint32_t kMostSurvived = 8;

struct Handled {
  struct sigaction before {};     // what the program had
  std::atomic<bool> ours{false};  // our handler is there, or in the chain of one that was set later
  std::atomic<uint32_t> survived{0};
};

// Plain data without constructors that run: the library is loaded into somebody's process.
pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
std::array<Handled, kSignals.size()> handled;
std::array<std::atomic<CrashListener*>, kMostListeners> listeners;
std::atomic<uint32_t> handlers_running{0};

void handle_crash(int signal, siginfo_t* info, void* context);

Handled* handled_of(int signal) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) return &handled[i];
  }
  return nullptr;
}

bool is_ours(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &handle_crash; }

bool is_plain(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

void set_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// The same signal again: it waits until the handler returns to where it came, and finds the system's default there.
void die_of(int signal, siginfo_t* info) {
  set_default(signal);
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info) != 0) syscall(SYS_tgkill, getpid(), thread, signal);
}

bool is_sent_by_program(const siginfo_t& info) { return info.si_code <= 0; }

void tell(int signal, const siginfo_t& info, const void* context) {
  for (const std::atomic<CrashListener*>& listener : listeners) {
    if (CrashListener* one = listener.load(std::memory_order_acquire)) one->crashed(signal, info, context);
  }
}

void tell_survived() {
  for (const std::atomic<CrashListener*>& listener : listeners) {
    if (CrashListener* one = listener.load(std::memory_order_acquire)) one->survived();
  }
}

// Runs the program's own handler. False when it left the signal to the system.
bool program_handles(int signal, siginfo_t* info, void* context, Handled& state) {
  struct sigaction before = state.before;
  if (is_plain(before, SIG_DFL)) return false;
  // A fault can not be ignored.
  if (is_plain(before, SIG_IGN)) return is_sent_by_program(*info);
  if ((before.sa_flags & SA_RESETHAND) != 0) set_default(signal);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
  return true;
}

// Whether the program goes on: its handler neither gave the signal up nor raised it again.
bool goes_on(int signal) {
  struct sigaction now {};
  sigset_t waiting;
  if (sigaction(signal, nullptr, &now) != 0 || sigpending(&waiting) != 0) return false;
  return is_ours(now) && sigismember(&waiting, signal) == 0;
}

void handle_crash(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  Handled* state = handled_of(signal);
  handlers_running.fetch_add(1);
  const bool told = state->survived.load(std::memory_order_relaxed) < kMostSurvived;
  if (told) tell(signal, *info, context);
  handlers_running.fetch_sub(1);
  if (!program_handles(signal, info, context, *state)) {
    die_of(signal, info);
  } else if (told && goes_on(signal)) {
    state->survived.fetch_add(1, std::memory_order_relaxed);
    handlers_running.fetch_add(1);
    tell_survived();
    handlers_running.fetch_sub(1);
  }
  errno = error;
}

void install(int signal, Handled& state) {
  // Left in the chain of a handler that was set later: a second time would make a circle.
  if (state.ours.load()) return;
  if (sigaction(signal, nullptr, &state.before) != 0) return;
  struct sigaction action {};
  action.sa_sigaction = &handle_crash;
  const bool has_handler = !is_plain(state.before, SIG_DFL) && !is_plain(state.before, SIG_IGN);
  constexpr int kKept = SA_ONSTACK | SA_NODEFER | SA_RESTART;
  action.sa_flags = SA_SIGINFO | (has_handler ? state.before.sa_flags & kKept : SA_ONSTACK);
  action.sa_mask = state.before.sa_mask;
  state.ours.store(sigaction(signal, &action, nullptr) == 0);
}

void uninstall(int signal, Handled& state) {
  struct sigaction now {};
  if (!state.ours.load() || sigaction(signal, nullptr, &now) != 0 || !is_ours(now)) return;
  if (sigaction(signal, &state.before, nullptr) == 0) state.ours.store(false);
}

template <class Use>
void for_each_signal(Use&& use) {
  for (size_t i = 0; i < kSignals.size(); ++i) use(kSignals[i], handled[i]);
}

}  // namespace

bool add_crash_listener(CrashListener* listener) {
  pthread_mutex_lock(&handlers_mutex);
  bool added = false;
  for (std::atomic<CrashListener*>& place : listeners) {
    if (place.load() != nullptr) continue;
    place.store(listener, std::memory_order_release);
    added = true;
    break;
  }
  if (added) for_each_signal(install);
  pthread_mutex_unlock(&handlers_mutex);
  return added;
}

void remove_crash_listener(CrashListener* listener) {
  pthread_mutex_lock(&handlers_mutex);
  bool others = false;
  for (std::atomic<CrashListener*>& place : listeners) {
    if (place.load() == listener) place.store(nullptr);
    others = others || place.load() != nullptr;
  }
  if (!others) for_each_signal(uninstall);
  pthread_mutex_unlock(&handlers_mutex);
  while (handlers_running.load() != 0) {
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

}  // namespace tensortap
