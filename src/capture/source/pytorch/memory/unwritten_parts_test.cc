#include "source/pytorch/memory/unwritten_parts.h"

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <array>
#include <memory>
#include <vector>

namespace tensortap::pytorch {
namespace {

using Part = UnwrittenParts::Part;

// A block of 64 bytes and views of it, of 4 by 4 numbers.
class Block : public testing::Test {
 protected:
  struct View {
    int64_t first;
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
  };

  tensortap_torch_tensor tensor_of(const View& view) {
    views_.push_back(std::make_unique<View>(view));
    tensortap_torch_tensor tensor{};
    tensor.storage = &memory_;
    tensor.storage_data = memory_.data();
    tensor.storage_bytes = sizeof memory_;
    tensor.data = memory_.data() + view.first;
    tensor.dims = views_.back()->dims.data();
    tensor.strides = views_.back()->strides.data();
    tensor.rank = static_cast<uint32_t>(view.dims.size());
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.kind = TENSORTAP_TORCH_STRIDED;
    return tensor;
  }
  tensortap_torch_tensor rows(int64_t first, int64_t count) { return tensor_of({first * 4, {count, 4}, {4, 1}}); }

  std::array<float, 16> memory_{};
  std::vector<std::unique_ptr<View>> views_;
};

TEST_F(Block, IsKnownByItsParts) {
  auto parts = UnwrittenParts::after_first_write(rows(0, 2));
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ(parts->written_of(rows(0, 2)), Part::kWritten);
  EXPECT_EQ(parts->written_of(rows(1, 2)), Part::kSome);
  EXPECT_EQ(parts->written_of(rows(2, 2)), Part::kNothing);
  EXPECT_EQ(parts->written_of(tensor_of({0, {4, 4}, {1, 4}})), Part::kSome) << "transposed";
  EXPECT_EQ(parts->written_of(tensor_of({0, {4, 2}, {4, 1}})), Part::kWritten) << "strides: some, or not known";
  EXPECT_EQ(parts->written_of(tensor_of({9, {2, 2}, {4, 1}})), Part::kNothing) << "strides inside of what is unwritten";
  EXPECT_EQ(parts->written_of(tensor_of({0, {2, 2}, {12, 0}})), Part::kWritten) << "as many elements as places, not all of them";
  EXPECT_EQ(parts->written_of(tensor_of({8, {0, 4}, {4, 1}})), Part::kWritten) << "no element";
  EXPECT_TRUE(parts->wrote(rows(3, 1)));
  EXPECT_EQ(parts->written_of(rows(2, 2)), Part::kSome);
  EXPECT_EQ(parts->written_of(rows(3, 1)), Part::kWritten);
  EXPECT_FALSE(parts->wrote(rows(2, 1))) << "nothing remains";
}

TEST_F(Block, AWriteWithStridesReachesFromItsFirstElementToItsLast) {
  const auto parts = UnwrittenParts::after_first_write(tensor_of({0, {3, 1}, {4, 1}}));
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ(parts->written_of(rows(0, 2)), Part::kWritten);
  EXPECT_EQ(parts->written_of(rows(3, 1)), Part::kNothing);
}

TEST_F(Block, IsWrittenBySomebodyElseWhereItHoldsOtherBytes) {
  const auto parts = UnwrittenParts::after_first_write(rows(0, 1));
  ASSERT_NE(parts, nullptr);
  EXPECT_TRUE(parts->are_as_left(rows(0, 1)));
  memory_[0] = 1.0F;
  EXPECT_TRUE(parts->are_as_left(rows(0, 1))) << "that was written before";
  memory_[9] = 1.0F;
  EXPECT_FALSE(parts->are_as_left(rows(0, 1)));
}

TEST_F(Block, IsNotWatchedWhereItIsLargeOrOnADeviceOrOfUnknownElements) {
  tensortap_torch_tensor tensor = rows(0, 1);
  tensor.kind = TENSORTAP_TORCH_DEVICE;
  EXPECT_EQ(UnwrittenParts::after_first_write(tensor), nullptr);
  tensor = rows(0, 1);
  tensor.storage_bytes = (1U << 20U) + 1;
  EXPECT_EQ(UnwrittenParts::after_first_write(tensor), nullptr);
  tensor = rows(0, 1);
  tensor.dtype = TENSORTAP_FLOAT8_E5M2;
  EXPECT_EQ(UnwrittenParts::after_first_write(tensor), nullptr);
  EXPECT_EQ(UnwrittenParts::after_first_write(rows(0, 4)), nullptr) << "all of it was written";
}

}  // namespace
}  // namespace tensortap::pytorch
