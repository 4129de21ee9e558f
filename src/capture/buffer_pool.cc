#include "capture/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace tensortap {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kSmallest = 1024;

}  // namespace

PoolBuffer& PoolBuffer::operator=(PoolBuffer&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void PoolBuffer::release() {
  if (data_ != nullptr) pool_->give_back(std::exchange(data_, nullptr), capacity_);
}

BufferPool::~BufferPool() { drop_cached_locked(UINT64_MAX / 2); }

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

PoolBuffer BufferPool::acquire(uint64_t bytes, WhenFull when_full) {
  if (!can_hold(bytes)) return {};
  const auto capacity = static_cast<size_t>(capacity_for(bytes));
  std::unique_lock lock(mutex_);
  while (in_use_ + capacity > limit_) {
    if (when_full == WhenFull::kGiveUp) return {};
    given_back_.wait(lock);
  }
  return take_locked(capacity);
}

PoolBuffer BufferPool::take_locked(size_t capacity) {
  Free*& same = cached_[class_of(capacity)];
  void* data = same;
  if (same != nullptr) {
    same = same->next;
    cached_bytes_ -= capacity;
  } else {
    drop_cached_locked(capacity);
    data = std::aligned_alloc(kAlignment, capacity);
    if (data == nullptr) return {};
  }
  in_use_ += capacity;
  peak_ = std::max(peak_, in_use_);
  return {this, static_cast<std::byte*>(data), capacity};
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

void BufferPool::give_back(std::byte* data, size_t capacity) {
  {
    const std::lock_guard lock(mutex_);
    in_use_ -= capacity;
    cached_bytes_ += capacity;
    Free*& head = cached_[class_of(capacity)];
    head = new (data) Free{head};
  }
  given_back_.notify_all();
}

uint64_t BufferPool::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

uint64_t BufferPool::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace tensortap
