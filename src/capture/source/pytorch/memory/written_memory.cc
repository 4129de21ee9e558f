#include "source/pytorch/memory/written_memory.h"

#include <algorithm>

namespace tensortap::pytorch {

WrittenMemory::Block WrittenMemory::block_of(const tensortap_torch_tensor& tensor) {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.storage_data);
  return {begin, begin + static_cast<uintptr_t>(tensor.storage_bytes)};
}

void WrittenMemory::assign(std::span<const tensortap_torch_tensor> tensors) {
  blocks_.clear();
  for (const tensortap_torch_tensor& tensor : tensors) {
    if ((tensor.flags & TENSORTAP_TORCH_TENSOR_WRITTEN) != 0) blocks_.push_back(block_of(tensor));
  }
  std::ranges::sort(blocks_, {}, &Block::begin);
  for (size_t i = 1; i < blocks_.size(); ++i) blocks_[i].end = std::max(blocks_[i].end, blocks_[i - 1].end);
}

bool WrittenMemory::reaches(const tensortap_torch_tensor& tensor) const {
  if ((tensor.flags & TENSORTAP_TORCH_TENSOR_WRITTEN) != 0) return true;
  const Block block = block_of(tensor);
  if (tensor.storage_data == nullptr || block.begin == block.end) return false;
  const auto after = std::ranges::lower_bound(blocks_, block.end, {}, &Block::begin);
  return after != blocks_.begin() && std::prev(after)->end > block.begin;
}

}  // namespace tensortap::pytorch
