#include "tensor/channel_blocks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tensortap {
namespace {

// The definition, element by element.
template <class T>
std::vector<T> blocked(const std::vector<T>& plain, const std::vector<int64_t>& dims, int64_t block) {
  std::vector<T> out(plain.size());
  const int64_t space = dims.size() < 3 ? 1 : std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
  for (int64_t n = 0; n < dims[0]; ++n) {
    for (int64_t c = 0; c < dims[1]; ++c) {
      for (int64_t s = 0; s < space; ++s) {
        out[static_cast<size_t>(((n * dims[1] / block + c / block) * space + s) * block + c % block)] =
            plain[static_cast<size_t>((n * dims[1] + c) * space + s)];
      }
    }
  }
  return out;
}

template <class T>
void expect_back(DType dtype, const std::vector<int64_t>& dims, uint32_t block) {
  const auto count = static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
  std::vector<T> plain(count);
  for (size_t i = 0; i < count; ++i) plain[i] = static_cast<T>(i % 251);
  const std::vector<T> stored = blocked(plain, dims, block);
  const TensorDesc desc{dtype, Shape(std::span(dims))};
  ASSERT_TRUE(has_channel_blocks(desc, block));
  std::vector<T> back(count);
  unblock_channels({desc, stored.data(), nullptr}, block, reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, plain);
  for (const size_t index : {size_t{0}, count / 3, count - 1}) EXPECT_EQ(stored[index], plain[unblocked_index(desc, block, index)]);
}

TEST(ChannelBlocks, ArePutBackIntoTheOrderOfTheDims) {  // M14
  expect_back<float>(DType::kFloat32, {2, 32, 5, 7}, 16);
  expect_back<float>(DType::kFloat32, {1, 8, 33, 41}, 8);
  expect_back<float>(DType::kFloat32, {3, 16}, 8);
  expect_back<uint8_t>(DType::kUInt8, {1, 16, 3, 3}, 8);
  expect_back<uint16_t>(DType::kFloat16, {2, 16, 2, 300}, 16);
  expect_back<double>(DType::kFloat64, {1, 64, 2, 2, 3}, 16);
}

TEST(ChannelBlocks, NeedWholeBlocksAndBytes) {
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({1, 12, 2, 2})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({16})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kInt4, Shape({1, 16, 2, 2})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({1, 16, 2, 2})}, 1));
}

}  // namespace
}  // namespace tensortap
