// The memory of the test device, and pinned memory of the host: poisoned, so that who reads early reads NaN.
#ifndef TENSORTAP_TESTS_DEVICE_MEMORY_H_
#define TENSORTAP_TESTS_DEVICE_MEMORY_H_

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "streams.h"

namespace tapdev {

constexpr auto kKind = c10::DeviceType::PrivateUse1;
constexpr int kPoison = 0xff;

// Reuses freed memory at once for the next request on the same stream, as caching allocators do.
class Allocator final : public c10::Allocator {
 public:
  static Allocator& get() {
    static auto& allocator = *new Allocator;
    return allocator;
  }
  c10::DataPtr allocate(size_t bytes) override {
    const int device = current_device;
    char* const memory = bytes == 0 ? nullptr : take(bytes, device, current_stream[device]);
    return {memory, memory, &release, c10::Device(kKind, static_cast<c10::DeviceIndex>(device))};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    here(current_device).push([=] { std::memcpy(Arena::get().readable(to), Arena::get().readable(from), bytes); });
  }
  // The most that was in use at a time.
  int64_t most_bytes() {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(most_);
  }
  // The memory is not given again before this stream is done with it.
  void record_stream(const void* memory, c10::Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    if (found != blocks_.end()) found->second.used.push_back(stream);
  }

 private:
  struct Block {
    size_t size;
    int device;
    int stream;
    std::vector<c10::Stream> used;
  };
  char* take(size_t bytes, int device, int stream) {
    size_t size = 512;
    while (size < bytes) size *= 2;
    if (memory_is_spent) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "tapdev: out of memory");
    const std::lock_guard lock(mutex_);
    in_use_ += size;
    most_ = std::max(most_, in_use_);
    auto& free = free_[{device, stream, size}];
    char* memory = nullptr;
    if (free.empty()) {
      TORCH_CHECK(top_ + size <= kArena, "tapdev: out of memory");
      memory = Arena::get().at(top_);
      top_ += size;
      std::memset(Arena::get().readable(memory), kPoison, size);
    } else {
      memory = free.back();
      free.pop_back();
    }
    blocks_[memory] = {size, device, stream, {}};
    return memory;
  }
  static void release(void* memory) {
    if (memory == nullptr) return;
    Allocator& all = get();
    Block block;
    {
      const std::lock_guard lock(all.mutex_);
      const auto found = all.blocks_.find(memory);
      block = std::move(found->second);
      all.in_use_ -= block.size;
      all.blocks_.erase(found);
    }
    const auto give_back = [memory, block] {
      Allocator& own = get();
      const std::lock_guard lock(own.mutex_);
      own.free_[{block.device, block.stream, block.size}].push_back(static_cast<char*>(memory));
    };
    if (block.used.empty()) return give_back();
    queue(block.used[0].device_index(), block.used[0].id()).push(give_back, false);
  }
  std::mutex mutex_;
  std::map<const void*, Block> blocks_;
  std::map<std::tuple<int, int, size_t>, std::vector<char*>> free_;
  size_t top_ = 0;
  size_t in_use_ = 0;
  size_t most_ = 0;
};

class Pinned final : public c10::Allocator {
 public:
  static Pinned& get() {
    static auto& pinned = *new Pinned;
    return pinned;
  }
  c10::DataPtr allocate(size_t bytes) override {
    TORCH_CHECK(!pinned_is_spent, "tapdev: no pinned memory");
    counters.pinned_bytes += static_cast<int64_t>(bytes);
    void* const memory = std::malloc(bytes + 1);
    std::memset(memory, kPoison, bytes);
    return {memory, memory, &std::free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};

}  // namespace tapdev

#endif  // TENSORTAP_TESTS_DEVICE_MEMORY_H_
