// Memory for copies of tensors that wait to be written: bounded in all, reused, so that a capture neither grows nor faults in new pages.

#ifndef TENSORTAP_CAPTURE_BUFFER_POOL_H_
#define TENSORTAP_CAPTURE_BUFFER_POOL_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tensortap {

class BufferPool;

// A piece of a pool, given back on destruction. Move-only. Must not outlive its pool.
class PoolBuffer {
 public:
  PoolBuffer() = default;
  PoolBuffer(PoolBuffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)), capacity_(other.capacity_) {}
  PoolBuffer& operator=(PoolBuffer&& other) noexcept;
  ~PoolBuffer() { release(); }

  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  [[nodiscard]] std::byte* data() const { return data_; }  // 64-byte aligned
  void release();

 private:
  friend class BufferPool;
  PoolBuffer(BufferPool* pool, std::byte* data, size_t capacity) : pool_(pool), data_(data), capacity_(capacity) {}

  BufferPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

// Thread-safe.
class BufferPool {
 public:
  enum class WhenFull : uint8_t { kWait, kGiveUp };

  explicit BufferPool(uint64_t limit) : limit_(limit) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Whether a buffer of this size can ever be had.
  [[nodiscard]] bool can_hold(uint64_t bytes) const { return bytes <= limit_ && capacity_for(bytes) <= limit_; }
  // A buffer of at least `bytes` bytes. Empty when the pool is full and `when_full` says so, when can_hold() is false, or
  // when the system has no memory.
  PoolBuffer acquire(uint64_t bytes, WhenFull when_full);
  // Bytes in buffers that are out.
  [[nodiscard]] uint64_t in_use() const;
  // The most that was ever out at once.
  [[nodiscard]] uint64_t peak() const;

 private:
  friend class PoolBuffer;
  // Stands in the first bytes of a buffer that is not in use, so that giving one back needs no memory.
  struct Free {
    Free* next;
  };
  static constexpr size_t kClasses = 256;

  static uint64_t capacity_for(uint64_t bytes);
  static size_t class_of(uint64_t capacity);
  PoolBuffer take_locked(size_t capacity);
  void drop_cached_locked(uint64_t wanted);
  void give_back(std::byte* data, size_t capacity);

  const uint64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  std::array<Free*, kClasses> cached_{};
  uint64_t cached_bytes_ = 0;
  uint64_t in_use_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_BUFFER_POOL_H_
