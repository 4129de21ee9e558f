// How much a dump may still take on the disk (limits.max_bytes).

#ifndef TENSORTAP_LAYOUT_DUMP_ROOM_H_
#define TENSORTAP_LAYOUT_DUMP_ROOM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace tensortap {

// The bytes that a layout reserves before it writes, and releases if it did not write. Thread-safe.
class DumpRoom {
 public:
  // `most` 0 = no limit. `kept` bytes are reserved for what every dump has, run.json above all.
  explicit DumpRoom(uint64_t most, uint64_t kept = kOfEveryDump) : limited_(most != 0), left_(most > kept ? most - kept : 0) {}

  [[nodiscard]] bool limited() const { return limited_; }
  // kExhausted, which is_no_room() knows, when that much is not left: then nothing is taken.
  Status take(uint64_t bytes) {
    if (!limited_) return {};
    uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (left < bytes) return {StatusCode::kExhausted, kNoRoom};
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return {};
  }
  // What is written in any case.
  void use(uint64_t bytes) {
    if (!limited_) return;
    uint64_t left = left_.load(std::memory_order_relaxed);
    while (!left_.compare_exchange_weak(left, left - std::min(left, bytes), std::memory_order_relaxed)) {
    }
  }
  void give_back(uint64_t bytes) {
    if (limited_) left_.fetch_add(bytes, std::memory_order_relaxed);
  }

  static bool is_no_room(const Status& status) { return status.code() == StatusCode::kExhausted && status.system_error() == 0; }
  // What a file of so many bytes takes: whole blocks.
  static constexpr uint64_t of_file(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

  static constexpr uint64_t kBlock = 4096;
  static constexpr uint64_t kOfEveryDump = 8 * kBlock;

 private:
  static constexpr const char* kNoRoom = "the dump has the size that \"max_bytes\" allows";
  const bool limited_;
  std::atomic<uint64_t> left_;
};

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_DUMP_ROOM_H_
