// Memory for copies of tensors that wait to be written: bounded in all, reused, so that a capture neither grows nor faults in new pages.
//
// All sessions of a process share one pool. Each has an account on it with a separate limit; the pool's limit is the largest of theirs.

#ifndef TENSORTAP_SESSION_BUFFER_POOL_H_
#define TENSORTAP_SESSION_BUFFER_POOL_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace tensortap {

class PoolAccount;

// A piece of the pool, returned on destruction. Move-only. Must not outlive its account.
class PoolBuffer {
 public:
  PoolBuffer() = default;
  PoolBuffer(PoolBuffer&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)), data_(std::exchange(other.data_, nullptr)), capacity_(other.capacity_) {}
  PoolBuffer& operator=(PoolBuffer&& other) noexcept;
  ~PoolBuffer() { release(); }

  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  [[nodiscard]] std::byte* data() const { return data_; }  // 64-byte aligned
  void release();

 private:
  friend class PoolAccount;
  PoolBuffer(PoolAccount* account, std::byte* data, size_t capacity) : account_(account), data_(data), capacity_(capacity) {}

  PoolAccount* account_ = nullptr;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

// The memory behind the accounts of a process. It exists while an account does. After fork() the child begins with a new pool.
class BufferPool {
 public:
  BufferPool() = default;
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

 private:
  friend class PoolAccount;
  // Stands in the first bytes of a buffer that is not in use, so that giving one back needs no memory.
  struct Free {
    Free* next;
  };
  static constexpr size_t kClasses = 256;

  // The pool of this process, with one account more or less. leave() deletes the pool with the last account.
  static BufferPool* join(uint64_t limit);
  static void leave(BufferPool* pool, uint64_t limit);

  static uint64_t capacity_for(uint64_t bytes);
  static size_t class_of(uint64_t capacity);
  void set_limit();
  [[nodiscard]] bool is_full_locked(size_t capacity) const { return in_use_ + capacity > limit_; }
  std::byte* take_locked(size_t capacity);
  void give_back_locked(std::byte* data, size_t capacity);
  void drop_cached_locked(uint64_t wanted);

  std::map<uint64_t, uint32_t> accounts_;  // how many have this limit; guarded by the lock of join() and leave()
  std::mutex mutex_;                       // guards what follows, and the counters of the accounts
  uint64_t limit_ = 0;
  std::array<Free*, kClasses> cached_{};
  uint64_t cached_bytes_ = 0;
  uint64_t in_use_ = 0;
};

// What one session may have of the pool. Thread-safe. All of its buffers must be back before it is destroyed.
class PoolAccount {
 public:
  enum class WhenFull : uint8_t { kWait, kGiveUp };

  explicit PoolAccount(uint64_t limit);
  ~PoolAccount();
  PoolAccount(const PoolAccount&) = delete;
  PoolAccount& operator=(const PoolAccount&) = delete;

  // Whether the account's limit allows a buffer of this size.
  [[nodiscard]] bool can_hold(uint64_t bytes) const;
  // A buffer of at least `bytes` bytes. If the account or the pool is full, kWait waits for a buffer of this account to come back, and
  // never for one of another account. Empty when it is full and there is nothing to wait for, when can_hold() is false, or when the system
  // has no memory, or while *gives_up is true.
  PoolBuffer acquire(uint64_t bytes, WhenFull when_full, const std::atomic<bool>* gives_up = nullptr);
  // Bytes in this account's buffers that are out.
  [[nodiscard]] uint64_t in_use() const;
  // The most that was ever out at once.
  [[nodiscard]] uint64_t peak() const;

 private:
  friend class PoolBuffer;
  void give_back(std::byte* data, size_t capacity);

  const uint64_t limit_;
  BufferPool* const pool_;
  std::condition_variable given_back_;  // with the pool's mutex, which guards what follows
  uint64_t in_use_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_BUFFER_POOL_H_
