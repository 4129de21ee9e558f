#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tensortap {
namespace {

TEST(Shape, NumelIsNothingForNegativeAndOverflowingDimensions) {
  EXPECT_EQ(Shape().numel(), 1U);
  EXPECT_EQ((Shape{3, 4}).numel(), 12U);
  EXPECT_EQ((Shape{3, 0, 4}).numel(), 0U);
  EXPECT_EQ((Shape{3, -1}).numel(), std::nullopt);
  EXPECT_EQ((Shape{int64_t{1} << 33, int64_t{1} << 33}).numel(), std::nullopt);
  EXPECT_EQ((Shape{int64_t{1} << 33, int64_t{1} << 33, 0}).numel(), 0U);
}

TEST(Shape, KeepsAtMostThirtyTwoDimensions) {
  const std::vector<int64_t> dims(40, 2);
  EXPECT_EQ(Shape(dims).rank(), kMaxRank);
}

TEST(Shape, Text) {
  EXPECT_EQ((Shape{1, 3, 224}).to_text(), "[1, 3, 224]");
  EXPECT_EQ(Shape().to_text(), "[]");
}

TEST(TensorView, ContiguityDoesNotMindStridesOfSingleElements) {
  const std::array<int64_t, 3> odd = {99, 4, 1};
  EXPECT_TRUE((TensorView{{DType::kFloat32, Shape{1, 3, 4}}, nullptr, odd.data()}).is_contiguous());
  EXPECT_FALSE((TensorView{{DType::kFloat32, Shape{2, 3, 4}}, nullptr, odd.data()}).is_contiguous());
  EXPECT_TRUE((TensorView{{DType::kFloat32, Shape{2, 3, 0}}, nullptr, odd.data()}).is_contiguous());
  EXPECT_TRUE((TensorView{{DType::kFloat32, Shape{2, 3}}, nullptr, nullptr}).is_contiguous());
}

class CopyPacked : public testing::Test {
 protected:
  CopyPacked() { std::iota(data_.begin(), data_.end(), 0); }
  std::vector<int32_t> copy(const Shape& shape, std::vector<int64_t> strides, int64_t start) {
    std::vector<int32_t> copied(shape.numel().value_or(0));
    copy_packed({{DType::kInt32, shape}, data_.data() + start, strides.data()}, copied.data());
    return copied;
  }
  std::array<int32_t, 24> data_{};
};

TEST_F(CopyPacked, TransposedReversedAndBroadcastViewsComeInLogicalOrder) {
  EXPECT_EQ(copy(Shape{2, 3}, {1, 2}, 0), (std::vector<int32_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(copy(Shape{4}, {-2}, 10), (std::vector<int32_t>{10, 8, 6, 4}));
  EXPECT_EQ(copy(Shape{2, 3}, {0, 1}, 5), (std::vector<int32_t>{5, 6, 7, 5, 6, 7}));
  EXPECT_EQ(copy(Shape{2, 1, 2, 2}, {8, 77, 4, 1}, 1), (std::vector<int32_t>{1, 2, 5, 6, 9, 10, 13, 14}));
  EXPECT_EQ(copy(Shape{2, 0}, {3, 1}, 0), (std::vector<int32_t>{}));
  EXPECT_EQ(copy(Shape{}, {}, 7), (std::vector<int32_t>{7}));
}

TEST_F(CopyPacked, EveryRangeEqualsThatPartOfTheWhole) {
  const std::array<int64_t, 3> strides = {12, -1, 3};
  const TensorView view{{DType::kInt32, Shape{2, 3, 4}}, data_.data() + 2, strides.data()};
  std::array<int32_t, 24> whole{};
  copy_packed(view, whole.data());
  for (uint64_t begin = 0; begin < 24; ++begin) {
    for (uint64_t count = 0; begin + count <= 24; ++count) {
      std::vector<int32_t> part(count);
      copy_packed_range(view, begin, count, part.data());
      EXPECT_EQ(part, std::vector<int32_t>(whole.begin() + begin, whole.begin() + begin + count));
    }
  }
}

TEST_F(CopyPacked, ElementsOfEverySize) {
  const int64_t backwards = -1;
  const std::array<uint8_t, 48> bytes = [] {
    std::array<uint8_t, 48> filled{};
    std::iota(filled.begin(), filled.end(), 0);
    return filled;
  }();
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
    const size_t size = dtype_info(dtype).bits / 8;
    std::vector<uint8_t> copied(3 * size);
    copy_packed({{dtype, Shape{3}}, bytes.data() + 2 * size, &backwards}, copied.data());
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(copied[i * size], bytes[(2 - i) * size]) << dtype_name(dtype);
    EXPECT_EQ(copied.back(), bytes[size - 1]) << dtype_name(dtype);
  }
}

TEST_F(CopyPacked, PackedTypesAreCopiedByBytes) {
  const std::array<uint8_t, 2> packed = {0x21, 0x03};
  std::array<uint8_t, 3> copied = {0xEE, 0xEE, 0xEE};
  copy_packed({{DType::kInt4, Shape{3}}, packed.data(), nullptr}, copied.data());
  EXPECT_EQ(copied, (std::array<uint8_t, 3>{0x21, 0x03, 0xEE}));
}

}  // namespace
}  // namespace tensortap
