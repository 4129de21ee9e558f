#include "session/buffer_pool.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <new>

namespace tensortap {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kSmallest = 1024;
constexpr std::chrono::milliseconds kGlance{20};  // after which a thread that waits looks whether it should

// Plain data without constructors: the library is loaded into another program's process. It is never unloaded (-z nodelete), so the
// handlers may stay.
pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
BufferPool* process_pool = nullptr;
bool fork_is_handled = false;

void lock_pool() { pthread_mutex_lock(&pool_mutex); }
void unlock_pool() { pthread_mutex_unlock(&pool_mutex); }
// A thread that does not exist here may hold the old pool's own lock.
void forget_pool() {
  process_pool = nullptr;
  unlock_pool();
}

}  // namespace

PoolBuffer& PoolBuffer::operator=(PoolBuffer&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void PoolBuffer::release() {
  if (data_ != nullptr) account_->give_back(std::exchange(data_, nullptr), capacity_);
}

BufferPool::~BufferPool() { drop_cached_locked(UINT64_MAX / 2); }

BufferPool* BufferPool::join(uint64_t limit) {
  lock_pool();
  if (!fork_is_handled) fork_is_handled = pthread_atfork(lock_pool, unlock_pool, forget_pool) == 0;
  if (process_pool == nullptr) process_pool = new (std::nothrow) BufferPool();
  BufferPool* const pool = process_pool;
  try {
    if (pool == nullptr) throw std::bad_alloc();
    ++pool->accounts_[limit];
  } catch (...) {
    unlock_pool();
    throw;
  }
  pool->set_limit();
  unlock_pool();
  return pool;
}

void BufferPool::leave(BufferPool* pool, uint64_t limit) {
  lock_pool();
  const auto account = pool->accounts_.find(limit);
  if (--account->second == 0) pool->accounts_.erase(account);
  const bool last = pool->accounts_.empty();
  if (!last) pool->set_limit();
  if (last && pool == process_pool) process_pool = nullptr;
  unlock_pool();
  if (last) delete pool;
}

void BufferPool::set_limit() {
  const std::lock_guard lock(mutex_);
  limit_ = accounts_.rbegin()->first;
  drop_cached_locked(0);
}

size_t BufferPool::class_of(uint64_t capacity) {
  const size_t exponent = std::max<size_t>(std::bit_width(capacity), 3) - 1;
  return exponent * 4 + static_cast<size_t>(capacity >> (exponent - 2) & 3);
}

// Four sizes to each power of two: buffers are found again, and at most a fifth is slack.
uint64_t BufferPool::capacity_for(uint64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const uint64_t shift = std::max<uint64_t>(std::bit_width(bytes - 1), 3) - 3;
  return (((bytes - 1) >> shift) + 1) << shift;
}

std::byte* BufferPool::take_locked(size_t capacity) {
  Free*& same = cached_[class_of(capacity)];
  void* data = same;
  if (same != nullptr) {
    same = same->next;
    cached_bytes_ -= capacity;
  } else {
    drop_cached_locked(capacity);
    data = std::aligned_alloc(kAlignment, capacity);
    if (data == nullptr) return nullptr;
  }
  in_use_ += capacity;
  return static_cast<std::byte*>(data);
}

// The largest first: few calls make much room.
void BufferPool::drop_cached_locked(uint64_t wanted) {
  for (size_t i = kClasses; i-- > 0 && in_use_ + cached_bytes_ + wanted > limit_;) {
    while (cached_[i] != nullptr && in_use_ + cached_bytes_ + wanted > limit_) {
      void* data = cached_[i];
      cached_[i] = cached_[i]->next;
      cached_bytes_ -= uint64_t{4 + i % 4} << (i / 4 - 2);
      std::free(data);  // NOLINT(cppcoreguidelines-no-malloc)
    }
  }
}

void BufferPool::give_back_locked(std::byte* data, size_t capacity) {
  in_use_ -= capacity;
  cached_bytes_ += capacity;
  Free*& head = cached_[class_of(capacity)];
  head = new (data) Free{head};
}

PoolAccount::PoolAccount(uint64_t limit) : limit_(limit), pool_(BufferPool::join(limit)) {}

PoolAccount::~PoolAccount() { BufferPool::leave(pool_, limit_); }

bool PoolAccount::can_hold(uint64_t bytes) const { return bytes <= limit_ && BufferPool::capacity_for(bytes) <= limit_; }

PoolBuffer PoolAccount::acquire(uint64_t bytes, WhenFull when_full, const std::atomic<bool>* gives_up) {
  if (!can_hold(bytes)) return {};
  const auto capacity = static_cast<size_t>(BufferPool::capacity_for(bytes));
  std::unique_lock lock(pool_->mutex_);
  while (in_use_ + capacity > limit_ || pool_->is_full_locked(capacity)) {
    if (when_full == WhenFull::kGiveUp || in_use_ == 0) return {};
    if (gives_up == nullptr) {
      given_back_.wait(lock);
      continue;
    }
    if (gives_up->load(std::memory_order_relaxed)) return {};
    given_back_.wait_for(lock, kGlance);
  }
  std::byte* const data = pool_->take_locked(capacity);
  if (data == nullptr) return {};
  in_use_ += capacity;
  peak_ = std::max(peak_, in_use_);
  return {this, data, capacity};
}

void PoolAccount::give_back(std::byte* data, size_t capacity) {
  // Under the lock, since the account may go as soon as its last buffer is back.
  const std::lock_guard lock(pool_->mutex_);
  pool_->give_back_locked(data, capacity);
  in_use_ -= capacity;
  given_back_.notify_all();
}

uint64_t PoolAccount::in_use() const {
  const std::lock_guard lock(pool_->mutex_);
  return in_use_;
}

uint64_t PoolAccount::peak() const {
  const std::lock_guard lock(pool_->mutex_);
  return peak_;
}

}  // namespace tensortap
