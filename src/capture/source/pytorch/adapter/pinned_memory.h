// Host memory that devices can write into while the host goes on: a bounded amount, kept for the next copies.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_PINNED_MEMORY_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_PINNED_MEMORY_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tensortap::torch_adapter {

struct PinnedBlock {
  void* data = nullptr;
  int64_t bytes = 0;
  at::Tensor own;  // the memory of a large block; small ones are parts of a piece
};

// The process has one, which is never destroyed, since devices may still write into it. Thread-safe; not to be used in a forked child.
class PinnedMemory {
 public:
  static constexpr int64_t kMost = int64_t{256} << 20;  // of all blocks, in use or kept
  // The largest block: several such are on their way at once.
  static constexpr int64_t kLargest = int64_t{64} << 20;

  static PinnedMemory& get();
  // A block of at least `bytes` bytes, at most kLargest. One without memory when kMost are in use. Throws what torch throws when it has no
  // such memory.
  PinnedBlock take(int64_t bytes);
  void give_back(PinnedBlock block);

 private:
  PinnedMemory() = default;
  static constexpr int kSmallestBits = 12;
  static constexpr int kSmallBits = 18;  // the largest block that is part of a piece
  static constexpr int kClasses = 27 - kSmallestBits;
  static constexpr int64_t kPiece = int64_t{4} << 20;

  PinnedBlock carve_locked(int64_t bytes);
  bool make_room_locked(int64_t bytes);

  std::mutex mutex_;
  std::array<std::vector<PinnedBlock>, kClasses> free_;
  std::vector<at::Tensor> pieces_;
  int64_t used_of_piece_ = kPiece;
  int64_t allocated_ = 0;
};

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_PINNED_MEMORY_H_
