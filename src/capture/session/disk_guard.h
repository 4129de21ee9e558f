// Keeps a capture from filling the disk: asks the file system how much is left, seldom while there is plenty.

#ifndef TENSORTAP_SESSION_DISK_GUARD_H_
#define TENSORTAP_SESSION_DISK_GUARD_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.h"

namespace tensortap {

// Thread-safe.
class DiskGuard {
 public:
  DiskGuard(std::string folder, uint64_t keep_free) : folder_(std::move(folder)), keep_free_(keep_free) {}

  // Whether there is room to begin: kExhausted otherwise, with both figures.
  [[nodiscard]] Status check() const;
  // Whether `bytes` more may be written so that keep_free stays free. `waiting` bytes are promised already and not yet on the disk.
  bool allows(uint64_t bytes, uint64_t waiting);

 private:
  static constexpr int64_t kAskEvery = int64_t{64} << 20;
  static constexpr int64_t kAskAgainAfterNs = 200'000'000;

  bool ask(uint64_t bytes, uint64_t waiting);

  const std::string folder_;
  const uint64_t keep_free_;
  std::atomic<int64_t> allowance_{0};  // bytes that may be written without asking
  std::atomic<int64_t> refused_until_ns_{0};
  std::mutex mutex_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_DISK_GUARD_H_
