// Switches capture off in a forked child, where neither the writer thread nor a consistent lock exists.

#ifndef TENSORTAP_SESSION_FORK_GUARD_H_
#define TENSORTAP_SESSION_FORK_GUARD_H_

#include <atomic>
#include <cstdint>

namespace tensortap {

// While one exists, fork() sets `bits` in `*flags` of the child; the parent stays as it was. Destroying one in the parent is thread-safe.
// The child never destroys one, because it leaves the session as it is. Counts the children that run what would be captured.
class ForkGuard {
 public:
  ForkGuard(std::atomic<uint32_t>* flags, uint32_t bits);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // In a child: counts the process, once. Any thread.
  void ran_in_child();
  // The children, and their children, that were counted; 0 where there was no memory to share with them.
  [[nodiscard]] uint32_t children() const { return children_ == nullptr ? 0 : children_->load(std::memory_order_relaxed); }

 private:
  using Count = std::atomic<uint32_t>;
  static_assert(Count::is_always_lock_free, "processes share it");
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<uint32_t>* flags_;
  uint32_t bits_;
  Count* children_ = nullptr;
  std::atomic<bool> uncounted_{false};  // in a child that has not run anything
  ForkGuard* next_ = nullptr;
  ForkGuard* previous_ = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_FORK_GUARD_H_
