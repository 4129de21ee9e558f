#include "session/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

namespace tensortap {
namespace {

// Plain data without constructors: the host program's process loads the library.
pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
ForkGuard* first_guard = nullptr;
bool handlers_registered = false;

}  // namespace

ForkGuard::ForkGuard(std::atomic<uint32_t>* flags, uint32_t bits) : flags_(flags), bits_(bits) {
  void* const shared = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) children_ = new (shared) Count(0);
  pthread_mutex_lock(&list_mutex);
  // The library is never unloaded (-z nodelete), so the handlers may stay registered.
  if (!handlers_registered) {
    handlers_registered = pthread_atfork(&ForkGuard::before_fork, &ForkGuard::after_fork_in_parent, &ForkGuard::after_fork_in_child) == 0;
  }
  next_ = first_guard;
  if (next_ != nullptr) next_->previous_ = this;
  first_guard = this;
  pthread_mutex_unlock(&list_mutex);
}

ForkGuard::~ForkGuard() {
  pthread_mutex_lock(&list_mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : first_guard) = next_;
  pthread_mutex_unlock(&list_mutex);
  if (children_ != nullptr) munmap(children_, sizeof(Count));
}

void ForkGuard::ran_in_child() {
  if (uncounted_.load(std::memory_order_relaxed) && uncounted_.exchange(false)) children_->fetch_add(1, std::memory_order_relaxed);
}

void ForkGuard::before_fork() { pthread_mutex_lock(&list_mutex); }

void ForkGuard::after_fork_in_parent() { pthread_mutex_unlock(&list_mutex); }

void ForkGuard::after_fork_in_child() {
  for (ForkGuard* guard = first_guard; guard != nullptr; guard = guard->next_) {
    guard->flags_->fetch_or(guard->bits_);
    guard->uncounted_.store(guard->children_ != nullptr, std::memory_order_relaxed);
  }
  pthread_mutex_unlock(&list_mutex);
}

}  // namespace tensortap
