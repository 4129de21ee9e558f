#include "compare/tensor_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compare/made_dump.h"

namespace tensortap {
namespace {

OrderedTensor tensor(const std::vector<float>& values, const Shape& shape) {
  return {{{DType::kFloat32, shape}, values.data(), nullptr}, false};
}

// 7 tokens of 4 heads; one program has the heads before the tokens, and one more dimension.
TEST(TensorOrder, IsFoundWhereOneTensorHasMoreDimensions) {
  const std::vector<float> by_token = numbers(size_t{7} * 4 * 16, 1);
  std::vector<float> by_head(by_token.size());
  for (size_t i = 0; i < by_token.size(); ++i) by_head[(i / 16 % 4 * 7 + i / 64) * 16 + i % 16] = by_token[i];
  const OrderedTensor a = tensor(by_token, {7, 4, 16});
  const OrderedTensor b = tensor(by_head, {1, 4, 7, 16});
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    const std::vector<TensorOrder> orders = possible_orders(one, other);
    ASSERT_FALSE(orders.empty());
    EXPECT_TRUE(orders.front().reshaped);
    const auto found = std::ranges::find_if(orders, [&](const TensorOrder& order) { return sampled_difference(one, other, order) == 0; });
    ASSERT_NE(found, orders.end());
    EXPECT_EQ(found->text(), "permuted [0, 2, 1, 3]");
    const Result<Difference> difference = compare_in_order(one, other, *found, {});
    ASSERT_TRUE(difference.ok());
    EXPECT_EQ(difference->differing, 0U);
  }
}

TEST(TensorOrder, DimensionsOfOneAreNotMovedByThemselves) {
  const std::vector<float> values = numbers(size_t{7} * 16, 1);
  const std::vector<TensorOrder> orders = possible_orders(tensor(values, {7, 16}), tensor(values, {1, 1, 7, 16}));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(orders.front().reshaped);
}

}  // namespace
}  // namespace tensortap
