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

TEST(MemoryOrder, IsNotAskedOfContiguousTensors) { EXPECT_FALSE(reordered({4, 6}, {6, 1}).has_value()); }

}  // namespace
}  // namespace tensortap
