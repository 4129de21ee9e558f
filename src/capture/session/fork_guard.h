// Switches capture off in a forked child, where neither the writer thread nor a consistent lock exists.

#ifndef TENSORTAP_SESSION_FORK_GUARD_H_
#define TENSORTAP_SESSION_FORK_GUARD_H_

#include <atomic>
#include <cstdint>

namespace tensortap {

// While one exists, fork() sets `bits` in `*flags` of the child; the parent stays as it was. Destroying one in the parent is thread-safe.
// The child never destroys one, because it leaves the session as it is.
class ForkGuard {
 public:
  ForkGuard(std::atomic<uint32_t>* flags, uint32_t bits);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<uint32_t>* flags_;
  uint32_t bits_;
  ForkGuard* next_ = nullptr;
  ForkGuard* previous_ = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_FORK_GUARD_H_
