#include "session/signal_stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

namespace tensortap {
namespace {

// Enough for our handler, the C library's walk up a stack, and the program's own handlers, which run after ours. Untouched pages
// cost nothing.
constexpr size_t kStackBytes = size_t{256} << 10;

// The stack of one thread, above a page that nothing may touch.
class SignalStack {
 public:
  SignalStack() = default;
  ~SignalStack() {
    if (map_ == nullptr) return;
    stack_t now{};
    // The program may have put another in its place, and may have kept ours to put it back: that is only so in this thread, which ends.
    const bool ours = sigaltstack(nullptr, &now) == 0 && now.ss_sp == stack();
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (ours && sigaltstack(&none, nullptr) != 0) return;
    munmap(map_, kStackBytes + page());
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  void give() {
    if (tried_) return;
    tried_ = true;
    stack_t now{};
    if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    void* map = mmap(nullptr, kStackBytes + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return;
    map_ = map;
    stack_t ours{};
    ours.ss_sp = stack();
    ours.ss_size = kStackBytes;
    if (mprotect(map, page(), PROT_NONE) == 0 && sigaltstack(&ours, nullptr) == 0) return;
    munmap(map, kStackBytes + page());
    map_ = nullptr;
  }

 private:
  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  [[nodiscard]] void* stack() const { return static_cast<std::byte*>(map_) + page(); }

  bool tried_ = false;
  void* map_ = nullptr;
};

}  // namespace

void give_thread_signal_stack() {
  static thread_local SignalStack stack;
  stack.give();
}

}  // namespace tensortap
