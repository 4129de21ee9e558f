#include "source/pytorch/adapter/pinned_memory.h"

#include <ATen/ATen.h>

#include <utility>

namespace tensortap::torch_adapter {
namespace {

at::Tensor pinned(int64_t bytes) { return at::empty({bytes}, at::TensorOptions(at::kByte).device(at::kCPU).pinned_memory(true)); }

int bits_for(int64_t bytes, int least) {
  int bits = least;
  while ((int64_t{1} << bits) < bytes) ++bits;
  return bits;
}

}  // namespace

PinnedMemory& PinnedMemory::get() {
  static auto& memory = *new PinnedMemory;
  return memory;
}

// Large blocks that are kept go first; parts of pieces stay.
bool PinnedMemory::make_room_locked(int64_t bytes) {
  for (int i = kClasses - 1; i > kSmallBits - kSmallestBits && allocated_ + bytes > kMost; --i) {
    auto& kept = free_[static_cast<size_t>(i)];
    while (!kept.empty() && allocated_ + bytes > kMost) {
      allocated_ -= kept.back().bytes;
      kept.pop_back();
    }
  }
  return allocated_ + bytes <= kMost;
}

PinnedBlock PinnedMemory::carve_locked(int64_t bytes) {
  if (used_of_piece_ + bytes > kPiece) {
    if (!make_room_locked(kPiece)) return {};
    pieces_.push_back(pinned(kPiece));
    allocated_ += kPiece;
    used_of_piece_ = 0;
  }
  void* const data = static_cast<char*>(pieces_.back().mutable_data_ptr()) + used_of_piece_;
  used_of_piece_ += bytes;
  return {data, bytes, {}};
}

PinnedBlock PinnedMemory::take(int64_t bytes) {
  const int bits = bits_for(bytes, kSmallestBits);
  const int64_t size = int64_t{1} << bits;
  const std::lock_guard lock(mutex_);
  auto& kept = free_[static_cast<size_t>(bits - kSmallestBits)];
  if (!kept.empty()) {
    PinnedBlock block = std::move(kept.back());
    kept.pop_back();
    return block;
  }
  if (bits <= kSmallBits) return carve_locked(size);
  if (!make_room_locked(size)) return {};
  at::Tensor own = pinned(size);
  allocated_ += size;
  void* const data = own.mutable_data_ptr();
  return {data, size, std::move(own)};
}

void PinnedMemory::give_back(PinnedBlock block) {
  const int bits = bits_for(block.bytes, kSmallestBits);
  const std::lock_guard lock(mutex_);
  free_[static_cast<size_t>(bits - kSmallestBits)].push_back(std::move(block));
}

}  // namespace tensortap::torch_adapter
