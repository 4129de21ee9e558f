#include "tensor/memory_order.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tensortap {
namespace {

std::optional<TensorView> reordered(const Shape& shape, const std::vector<int64_t>& strides) {
  static const std::array<float, 64> kValues{};
  const TensorView view{{DType::kFloat32, shape}, kValues.data(), strides.data()};
  const auto found = in_memory_order(view);
  EXPECT_EQ(found.has_value() ? found->data : kValues.data(), kValues.data());
  return found;
}

TEST(MemoryOrder, IsThatOfTransposedTensors) {
  const auto matrix = reordered({4, 6}, {1, 4});
  ASSERT_TRUE(matrix.has_value());
  EXPECT_EQ(matrix->desc.shape, Shape({24}));
  EXPECT_EQ(matrix->strides, nullptr);
  EXPECT_TRUE(reordered({2, 3, 4}, {4, 8, 1}).has_value());
  EXPECT_TRUE(reordered({2, 1, 4}, {1, 77, 2}).has_value());
}

TEST(MemoryOrder, IsNotThereWithGapsOrRepeats) {
  EXPECT_FALSE(reordered({4, 6}, {1, 5}).has_value());
  EXPECT_FALSE(reordered({4, 6}, {2, 8}).has_value());
  EXPECT_FALSE(reordered({4, 6}, {0, 1}).has_value());
  EXPECT_FALSE(reordered({4, 6}, {1, 1}).has_value());
  EXPECT_FALSE(reordered({4, 6}, {1, -4}).has_value());
}

uint64_t number_of(const void* data, const Shape& shape, const std::vector<int64_t>& strides) {
  return view_number({{DType::kFloat32, shape}, data, strides.empty() ? nullptr : strides.data()});
}

TEST(ViewNumber, TellsAddressesAndOrdersApart) {
  const std::array<float, 64> values{};
  const uint64_t plain = number_of(values.data(), {4, 4}, {});
  EXPECT_NE(plain, number_of(values.data() + 4, {4, 4}, {}));
  EXPECT_NE(plain, number_of(values.data(), {4, 4}, {1, 4}));
  EXPECT_NE(number_of(values.data(), {4, 4}, {1, 8}), number_of(values.data(), {4, 4}, {1, 4}));
  EXPECT_NE(number_of(values.data(), {4, 4}, {0, 1}), number_of(values.data(), {4, 4}, {1, 0}));
}

TEST(ViewNumber, IsTheSameHoweverTheOrderIsSaid) {
  const std::array<float, 64> values{};
  EXPECT_EQ(number_of(values.data(), {4, 4}, {}), number_of(values.data(), {4, 4}, {4, 1}));
  EXPECT_EQ(number_of(values.data(), {4, 1, 4}, {1, 7, 4}), number_of(values.data(), {4, 1, 4}, {1, 9, 4}));
  EXPECT_EQ(number_of(nullptr, {4, 4}, {1, 4}), 0U);
}

TEST(MemoryOrder, IsNotAskedOfContiguousTensors) { EXPECT_FALSE(reordered({4, 6}, {6, 1}).has_value()); }

}  // namespace
}  // namespace tensortap
