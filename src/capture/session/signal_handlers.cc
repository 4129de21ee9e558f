#include "session/signal_handlers.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>

#include "session/thread_number.h"

namespace tensortap {
namespace {

constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::array<int, 4> kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
// Some language runtimes use these signals themselves. After this many survived signals we stop reporting them.
constexpr uint32_t kMostSurvived = 8;
constexpr int64_t kLongestWaitNs = 5'000'000'000;
constexpr timespec kMoment{0, 1'000'000};

struct Handled {
  struct sigaction before {};     // what the program had
  std::atomic<bool> ours{false};  // our handler is installed, or in the chain of one that was set later
  std::atomic<uint32_t> survived{0};
};

// Plain data without constructors that run: the host program's process loads the library.
pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
std::array<Handled, kSignals.size()> handled;
// A chunk stays for good: a handler may be looking at it.
struct ListenerChunk {
  std::array<std::atomic<CrashListener*>, 16> places{};
  std::atomic<ListenerChunk*> next{nullptr};
};
ListenerChunk first_listeners;

// Calls use(place) for every place until it returns true. Safe in a handler.
template <class Use>
bool any_place(Use&& use) {
  for (ListenerChunk* chunk = &first_listeners; chunk != nullptr; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (std::atomic<CrashListener*>& place : chunk->places) {
      if (use(place)) return true;
    }
  }
  return false;
}

std::atomic<uint32_t> handlers_running{0};
std::atomic<uint32_t> teller{0};           // number of the thread that calls the listeners
std::atomic<sigjmp_buf*> rescue{nullptr};  // where a fault of that thread goes

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

// It waits until this thread does not block it.
void send_again(int signal, siginfo_t* info) {
  const auto thread = static_cast<pid_t>(system_thread_number());
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info) != 0) syscall(SYS_tgkill, getpid(), thread, signal);
}

// The same signal again: it waits until the handler returns to where it came, and finds the system's default there.
void die_of(int signal, siginfo_t* info) {
  set_default(signal);
  send_again(signal, info);
}

bool is_sent_by_program(const siginfo_t& info) { return info.si_code <= 0; }

int64_t now_ns() {
  // base/clock.h does not promise that it may be called in a handler.
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The right to call the listeners, and the signals that arrive meanwhile: our own faults are delivered and survived, all others wait.
// The program's own handler finds the mask as it was.
class Turn {
 public:
  // Waits for another thread that calls them, but not for ever: that one may end the program when it is done.
  Turn() {
    uint32_t nobody = 0;
    for (const int64_t until = now_ns() + kLongestWaitNs; !teller.compare_exchange_strong(nobody, system_thread_number()); nobody = 0) {
      if (now_ns() > until) return;
      nanosleep(&kMoment, nullptr);
    }
    taken_ = true;
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : kFaults) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~Turn() {
    if (!taken_) return;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    teller.store(0);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool taken() const { return taken_; }

 private:
  bool taken_ = false;
  sigset_t before_{};
};

struct Told {
  CrashListener* listener;
  int signal;
  const siginfo_t* info;  // null: the program survived
  const void* context;
};

void tell_one(void* context) {
  const Told& told = *static_cast<const Told*>(context);
  if (told.info == nullptr) {
    told.listener->survived();
  } else {
    told.listener->crashed(told.signal, *told.info, told.context);
  }
}

// Counted, so that a listener is not removed while it runs.
void tell(int signal, const siginfo_t* info, const void* context) {
  handlers_running.fetch_add(1);
  if (const Turn turn; turn.taken()) {
    any_place([&](const std::atomic<CrashListener*>& listener) {
      Told told{listener.load(std::memory_order_acquire), signal, info, context};
      if (told.listener != nullptr) survives_faults(tell_one, &told);
      return false;
    });
  }
  handlers_running.fetch_sub(1);
}

// A signal that came while its own thread calls the listeners.
void handle_inside_tell(int signal, siginfo_t* info, void* context) {
  sigjmp_buf* place = rescue.load();
  if (!is_sent_by_program(*info) && place != nullptr) siglongjmp(*place, 1);
  // Another process sent it: it waits until the listeners were called.
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  send_again(signal, info);
}

// Runs the program's own handler. False when it left the signal to the system.
bool program_handles(int signal, siginfo_t* info, void* context, Handled& state) {
  struct sigaction before = state.before;
  if (is_plain(before, SIG_DFL)) return false;
  // A fault cannot be ignored.
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
  if (teller.load() == system_thread_number()) {
    handle_inside_tell(signal, info, context);
    errno = error;
    return;
  }
  Handled* state = handled_of(signal);
  const bool told = state->survived.load(std::memory_order_relaxed) < kMostSurvived;
  if (told) tell(signal, info, context);
  if (!program_handles(signal, info, context, *state)) {
    die_of(signal, info);
  } else if (told && goes_on(signal)) {
    state->survived.fetch_add(1, std::memory_order_relaxed);
    tell(signal, nullptr, nullptr);
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
  const auto take_place = [listener](std::atomic<CrashListener*>& place) {
    if (place.load() != nullptr) return false;
    place.store(listener, std::memory_order_release);
    return true;
  };
  bool added = any_place(take_place);
  if (!added) {
    auto* chunk = new (std::nothrow) ListenerChunk;
    added = chunk != nullptr && take_place(chunk->places[0]);
    ListenerChunk* last = &first_listeners;
    while (last->next.load() != nullptr) last = last->next.load();
    last->next.store(chunk, std::memory_order_release);
  }
  if (added) for_each_signal(install);
  pthread_mutex_unlock(&handlers_mutex);
  return added;
}

void remove_crash_listener(CrashListener* listener) {
  pthread_mutex_lock(&handlers_mutex);
  any_place([listener](std::atomic<CrashListener*>& place) {
    if (place.load() == listener) place.store(nullptr);
    return false;
  });
  const bool others = any_place([](const std::atomic<CrashListener*>& place) { return place.load() != nullptr; });
  if (!others) for_each_signal(uninstall);
  pthread_mutex_unlock(&handlers_mutex);
  while (handlers_running.load() != 0) nanosleep(&kMoment, nullptr);
}

bool survives_faults(void (*body)(void* context), void* context) {
  sigjmp_buf here;
  sigjmp_buf* const outer = rescue.load();
  const bool whole = sigsetjmp(here, 1) == 0;
  if (whole) {
    rescue.store(&here);
    body(context);
  }
  rescue.store(outer);
  return whole;
}

}  // namespace tensortap
