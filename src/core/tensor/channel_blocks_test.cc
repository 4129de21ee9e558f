#include "tensor/channel_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  unblock_channels({desc, stored.data(), nullptr}, block, static_cast<uint64_t>(dims[1]), reinterpret_cast<std::byte*>(back.data()));
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

TEST(ChannelBlocks, LoseWhatFillsThemUp) {
  const std::vector<int64_t> dims = {2, 24, 3, 5};
  std::vector<float> plain(2 * 24 * 15);
  std::iota(plain.begin(), plain.end(), 1.0F);
  const std::vector<float> stored = blocked(plain, dims, 8);
  const TensorDesc desc{DType::kFloat32, Shape(std::span(dims))};
  for (const uint64_t channels : {uint64_t{24}, uint64_t{20}, uint64_t{17}, uint64_t{8}, uint64_t{3}}) {
    std::vector<float> expected;
    for (const size_t image : {size_t{0}, size_t{1}}) {
      const auto begin = plain.begin() + static_cast<ptrdiff_t>(image * 24 * 15);
      expected.insert(expected.end(), begin, begin + static_cast<ptrdiff_t>(channels * 15));
    }
    std::vector<float> back(expected.size() + 1, -1);
    unblock_channels({desc, stored.data(), nullptr}, 8, channels, reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back.back(), -1) << "nothing is written behind the target";
    back.pop_back();
    EXPECT_EQ(back, expected) << channels;
  }
}

// The definition of the order of filters, element by element.
std::vector<float> stored_filter(const std::vector<float>& plain, const std::vector<int64_t>& dims, const FilterBlocks& filter) {
  const int64_t block = filter.block;
  const int64_t space = std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
  const bool inputs_too = filter.order == FilterOrder::kInputsAndOutputs;
  const int64_t inputs = filter.filled()[1];
  std::vector<float> out(static_cast<size_t>(*filter.filled().numel()));
  for (int64_t o = 0; o < dims[0]; ++o) {
    for (int64_t i = 0; i < dims[1]; ++i) {
      for (int64_t s = 0; s < space; ++s) {
        const int64_t within = inputs_too ? ((o / block * (inputs / block) + i / block) * space + s) * block * block + i % block * block
                                          : ((o / block * inputs + i) * space + s) * block;
        out[static_cast<size_t>(within + o % block)] = plain[static_cast<size_t>((o * dims[1] + i) * space + s)];
      }
    }
  }
  return out;
}

TEST(ChannelBlocks, OfFiltersArePutBackIntoTheirOrder) {
  for (const uint32_t block : {8U, 16U}) {
    for (const FilterOrder order : {FilterOrder::kOutputs, FilterOrder::kInputsAndOutputs}) {
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{20, 3, 3, 3}, {32, 16, 1, 1}, {5, 28, 2, 3}, {16, 1, 3, 3}}) {
        const FilterBlocks filter{order, block, Shape(dims), sizeof(float)};
        std::vector<float> plain(static_cast<size_t>(*filter.shape.numel()));
        std::iota(plain.begin(), plain.end(), 1.0F);
        std::vector<float> stored = stored_filter(plain, dims, filter);
        std::vector<float> made(stored.size(), -1);
        block_filter(filter, reinterpret_cast<const std::byte*>(plain.data()), reinterpret_cast<std::byte*>(made.data()));
        EXPECT_EQ(made, stored) << to_text(order) << block;
        std::vector<float> back(plain.size());
        const auto* const bytes = reinterpret_cast<const std::byte*>(stored.data());
        EXPECT_TRUE(unblock_filter(filter, bytes, reinterpret_cast<std::byte*>(back.data())));
        EXPECT_EQ(back, plain) << to_text(order) << block;
        if (stored.size() == plain.size()) continue;
        *std::ranges::find(stored, 0.0F) = 1;
        EXPECT_FALSE(unblock_filter(filter, bytes, reinterpret_cast<std::byte*>(back.data()))) << "the channels that fill up are not zero";
      }
    }
  }
}

TEST(ChannelBlocks, OfABiasAreFilledUp) {
  const FilterBlocks bias{FilterOrder::kOutputs, 8, Shape({5}), sizeof(float)};
  EXPECT_EQ(bias.filled(), Shape({8}));
  const std::vector<float> plain = {1, 2, 3, 4, 5};
  std::vector<float> stored(8);
  block_filter(bias, reinterpret_cast<const std::byte*>(plain.data()), reinterpret_cast<std::byte*>(stored.data()));
  EXPECT_EQ(stored, (std::vector<float>{1, 2, 3, 4, 5, 0, 0, 0}));
  EXPECT_EQ(filter_order_named(to_text(bias.order)), bias.order);
  EXPECT_EQ(filter_order_named("OHWI"), std::nullopt);
}

TEST(ChannelBlocks, NeedWholeBlocksAndBytes) {
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({1, 12, 2, 2})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({16})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kInt4, Shape({1, 16, 2, 2})}, 8));
  EXPECT_FALSE(has_channel_blocks({DType::kFloat32, Shape({1, 16, 2, 2})}, 1));
}

}  // namespace
}  // namespace tensortap
