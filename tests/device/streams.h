// The streams of the test device: threads that do what is queued later than the program may expect.
#ifndef TENSORTAP_TESTS_DEVICE_STREAMS_H_
#define TENSORTAP_TESTS_DEVICE_STREAMS_H_

#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace tapdev {

inline constexpr int kDevices = 2;
inline constexpr int kStreams = 8;
inline constexpr size_t kArena = size_t{1} << 30U;

struct Counters {
  std::atomic<int64_t> host_waits{0};      // of threads of the program, outside of the device's own operators
  std::atomic<int64_t> fallback_waits{0};  // inside of them
  std::atomic<int64_t> copies{0};
  std::atomic<int64_t> pinned_bytes{0};
};
inline Counters counters;
inline std::atomic<int> delay_us{100};  // that each piece of work begins late
inline thread_local bool in_fallback = false;
inline thread_local bool recording = false;  // the thread records its work into a graph: waiting breaks it
inline std::atomic<int64_t> broken_recordings{0};
inline std::atomic<bool> held{false};             // all streams stand still
inline std::atomic<bool> broken{false};           // as after an assertion on a device: every copy and every question fails
inline std::atomic<bool> pinned_is_spent{false};  // the host has no more pinned memory
inline std::atomic<bool> memory_is_spent{false};  // the device has no more memory

// The same pages twice: tensors point to addresses that must not be touched; threads of the device read and write the pages elsewhere.
class Arena {
 public:
  static Arena& get() {
    static auto& arena = *new Arena;
    return arena;
  }
  [[nodiscard]] char* at(size_t offset) const { return guarded_ + offset; }
  [[nodiscard]] void* readable(const void* address) const {
    return address == nullptr ? nullptr : backing_ + (static_cast<const char*>(address) - guarded_);
  }

 private:
  Arena() {
    const int file = memfd_create("tapdev", 0);
    if (file < 0 || ftruncate(file, kArena) != 0) std::abort();
    guarded_ = static_cast<char*>(mmap(nullptr, kArena, PROT_NONE, MAP_SHARED, file, 0));
    backing_ = static_cast<char*>(mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (guarded_ == MAP_FAILED || backing_ == MAP_FAILED) std::abort();
  }
  char* guarded_;
  char* backing_;
};

// One stream.
class Queue {
 public:
  Queue() {
    std::thread([this] { run(); }).detach();
  }
  void push(std::function<void()> work, bool late = true) {
    {
      const std::lock_guard lock(mutex_);
      ++pushed_;
      work_.push_back([work = std::move(work), late] {
        if (late && delay_us > 0) usleep(static_cast<useconds_t>(delay_us));
        while (held) usleep(200);
        work();
      });
    }
    filled_.notify_one();
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return pushed_ == done_;
  }
  // On the thread of the program.
  void wait() {
    if (recording) ++broken_recordings;
    std::unique_lock lock(mutex_);
    const uint64_t target = pushed_;
    idle_.wait(lock, [&] { return done_ >= target; });
    ++(in_fallback ? counters.fallback_waits : counters.host_waits);
  }

 private:
  void run() {
    at::enableRecordFunction(false);
    const c10::InferenceMode inference;
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [&] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      work();
      work = nullptr;
      {
        const std::lock_guard lock(mutex_);
        ++done_;
      }
      idle_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> work_;
  uint64_t pushed_ = 0;
  uint64_t done_ = 0;
};

// Never destroyed: the threads run while the process ends.
inline Queue& queue(int device, int64_t stream) {
  static auto& queues = *new std::array<std::array<Queue, kStreams>, kDevices>;
  return queues[static_cast<size_t>(device)][static_cast<size_t>(stream)];
}

inline thread_local int current_device = 0;
inline thread_local int current_stream[kDevices] = {};
inline Queue& here(int device) { return queue(device, current_stream[device]); }

class Event {
 public:
  uint64_t record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
  }
  void finish(uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      done_ = std::max(done_, number);
    }
    changed_.notify_all();
  }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
  }
  uint64_t recorded() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  bool is_done() {
    const std::lock_guard lock(mutex_);
    return done_ >= recorded_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t recorded_ = 0;
  uint64_t done_ = 0;
};

}  // namespace tapdev

#endif  // TENSORTAP_TESTS_DEVICE_STREAMS_H_
