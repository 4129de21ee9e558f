// Which elements of a tensor are looked at, and in which pieces: all of them, or evenly spread blocks when a sample is enough.

#ifndef TENSORTAP_STATS_BLOCK_PLAN_H_
#define TENSORTAP_STATS_BLOCK_PLAN_H_

#include <algorithm>
#include <cstdint>

namespace tensortap {

// Elements of one block: small enough to stay in the cache when a block has to be read twice, a multiple of every vector length.
inline constexpr uint64_t kBlockElements = 16384;
inline constexpr uint64_t kSampleBlockElements = 4096;
// Sampled blocks start at multiples of this, so that elements narrower than a byte start at a byte.
inline constexpr uint64_t kSampleAlignment = 64;

struct BlockRange {
  uint64_t begin;
  uint64_t count;
};

// Immutable. Blocks do not overlap and are in ascending order.
class BlockPlan {
 public:
  // All of `numel` elements, or about `sample_limit` of them when that is positive and smaller.
  BlockPlan(uint64_t numel, uint64_t sample_limit) : numel_(numel) {
    if (sample_limit == 0 || sample_limit >= numel) {
      block_ = kBlockElements;
      blocks_ = numel / block_ + (numel % block_ != 0 ? 1 : 0);
      stride_ = block_;
      return;
    }
    sampled_ = true;
    block_ = std::min(sample_limit, kSampleBlockElements);
    blocks_ = sample_limit / block_;
    // Every block fits between its start and the next one's, since blocks_ * block_ <= sample_limit < numel.
    stride_ = blocks_ > 1 ? (numel - block_) / (blocks_ - 1) / kSampleAlignment * kSampleAlignment : 0;
    if (blocks_ > 1 && stride_ < block_) stride_ = block_;
  }

  [[nodiscard]] bool sampled() const { return sampled_; }
  [[nodiscard]] uint64_t blocks() const { return blocks_; }
  [[nodiscard]] BlockRange block(uint64_t index) const {
    const uint64_t begin = index * stride_;
    return {begin, std::min(block_, numel_ - begin)};
  }

 private:
  uint64_t numel_;
  uint64_t block_ = 0;
  uint64_t blocks_ = 0;
  uint64_t stride_ = 0;
  bool sampled_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_STATS_BLOCK_PLAN_H_
