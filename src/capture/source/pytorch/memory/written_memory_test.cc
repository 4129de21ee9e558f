#include "source/pytorch/memory/written_memory.h"

#include <gtest/gtest.h>

#include <array>

namespace tensortap::pytorch {
namespace {

constexpr size_t kBlock = 64;
std::array<char, 8 * kBlock> arena;

tensortap_torch_tensor lying_at(size_t begin, size_t bytes, bool written = false) {
  tensortap_torch_tensor tensor{};
  tensor.storage_data = arena.data() + begin;
  tensor.storage_bytes = bytes;
  tensor.flags = written ? static_cast<uint32_t>(TENSORTAP_TORCH_TENSOR_WRITTEN) : 0U;
  return tensor;
}

TEST(WrittenMemory, OfACallThatWritesNothingIsEmpty) {
  WrittenMemory written;
  written.assign(std::array{lying_at(0, kBlock)});
  EXPECT_TRUE(written.empty());
  EXPECT_FALSE(written.reaches(lying_at(0, kBlock)));
}

TEST(WrittenMemory, ReachesWhatSharesABlock) {
  WrittenMemory written;
  written.assign(std::array{lying_at(4 * kBlock, kBlock, true), lying_at(0, kBlock), lying_at(kBlock, kBlock, true)});
  EXPECT_TRUE(written.reaches(lying_at(kBlock, kBlock)));
  EXPECT_TRUE(written.reaches(lying_at(4 * kBlock, kBlock)));
  EXPECT_FALSE(written.reaches(lying_at(0, kBlock))) << "it ends where a written one begins";
  EXPECT_FALSE(written.reaches(lying_at(2 * kBlock, kBlock)));
  EXPECT_FALSE(written.reaches(lying_at(5 * kBlock, kBlock)));
}

TEST(WrittenMemory, ReachesABlockThatOverlapsUnderAnotherBeginning) {
  WrittenMemory written;
  written.assign(std::array{lying_at(0, 6 * kBlock, true), lying_at(kBlock, kBlock, true)});
  EXPECT_TRUE(written.reaches(lying_at(5 * kBlock, kBlock))) << "of the long block, though a short one begins after it";
  EXPECT_FALSE(written.reaches(lying_at(6 * kBlock, kBlock)));
  written.assign(std::array{lying_at(2 * kBlock, kBlock, true)});
  EXPECT_TRUE(written.reaches(lying_at(0, 8 * kBlock)));
}

TEST(WrittenMemory, KnowsWhatIsWrittenWithoutMemory) {
  WrittenMemory written;
  tensortap_torch_tensor none{};
  none.flags = TENSORTAP_TORCH_TENSOR_WRITTEN;
  written.assign(std::array{none, lying_at(0, kBlock, true)});
  EXPECT_TRUE(written.reaches(none));
  EXPECT_FALSE(written.reaches(tensortap_torch_tensor{}));
}

}  // namespace
}  // namespace tensortap::pytorch
