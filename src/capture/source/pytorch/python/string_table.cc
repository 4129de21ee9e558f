#include "source/pytorch/python/string_table.h"

namespace tensortap::pytorch {

uint32_t StringTable::number(const std::string& text) {
  const std::lock_guard lock(writer_);
  if (numbers_ == nullptr) numbers_ = new std::unordered_map<std::string, uint32_t>;
  if (const auto known = numbers_->find(text); known != numbers_->end()) return known->second;
  const uint32_t index = count_.load(std::memory_order_relaxed);
  if (index >= kBlock * kBlocks) return 0;
  std::atomic<std::string*>& block = blocks_[index / kBlock];
  if (block.load(std::memory_order_relaxed) == nullptr) block.store(new std::string[kBlock], std::memory_order_release);
  block.load(std::memory_order_relaxed)[index % kBlock] = text;
  count_.store(index + 1, std::memory_order_release);
  numbers_->emplace(text, index + 1);
  return index + 1;
}

const std::string& StringTable::text(uint32_t number) const {
  static const std::string& none = *new std::string;
  if (number == 0 || number > count_.load(std::memory_order_acquire)) return none;
  return blocks_[(number - 1) / kBlock].load(std::memory_order_acquire)[(number - 1) % kBlock];
}

}  // namespace tensortap::pytorch
