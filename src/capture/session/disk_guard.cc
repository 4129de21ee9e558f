#include "session/disk_guard.h"

#include <algorithm>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace tensortap {

Status DiskGuard::check() const {
  const Result<uint64_t> free = free_disk_bytes(folder_);
  if (!free.ok() || *free > keep_free_) return {};
  return exhausted(concat("disk of ", quote(folder_), ": ", bytes_text(*free), " free, and ", bytes_text(keep_free_),
                          " are to stay free. Free some, choose another folder with --out, or lower --keep-free"));
}

bool DiskGuard::allows(uint64_t bytes, uint64_t waiting) {
  const auto wanted = static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX / 2));
  if (allowance_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
  allowance_.fetch_add(wanted, std::memory_order_relaxed);
  if (const int64_t until = refused_until_ns_.load(std::memory_order_relaxed); until != 0 && monotonic_ns() < until) return false;
  return ask(bytes, waiting);
}

bool DiskGuard::ask(uint64_t bytes, uint64_t waiting) {
  const std::lock_guard lock(mutex_);
  const Result<uint64_t> free = free_disk_bytes(folder_);
  // A folder that is gone is noticed and said elsewhere.
  if (!free.ok()) return true;
  const uint64_t reserved = keep_free_ > UINT64_MAX - waiting ? UINT64_MAX : keep_free_ + waiting;
  const uint64_t room = *free > reserved ? *free - reserved : 0;
  if (bytes > room) {
    refused_until_ns_.store(monotonic_ns() + kAskAgainAfterNs, std::memory_order_relaxed);
    return false;
  }
  refused_until_ns_.store(0, std::memory_order_relaxed);
  // Half of the room: others also write to this disk.
  allowance_.store(std::min(kAskEvery, static_cast<int64_t>(std::min<uint64_t>((room - bytes) / 2, INT64_MAX))), std::memory_order_relaxed);
  return true;
}

}  // namespace tensortap
