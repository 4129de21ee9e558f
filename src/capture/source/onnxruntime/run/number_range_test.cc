#include "source/onnxruntime/run/number_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int32_t kInt8 = 3, kInt64 = 7, kUint64 = 13, kUint4 = 21, kInt4 = 22, kFloat4 = 23, kE8m0 = 24;

TEST(NumberRange, TypesOfLessThanAByteArePackedFromTheLowBitsUp) {
  std::array<uint8_t, 51> bytes{};  // 101 elements; the last half byte is free
  fill_range(kInt4, bytes.data(), 101, 7, {-3, 2});
  std::vector<int> seen;
  for (size_t i = 0; i < 101; ++i) {
    const int code = bytes[i / 2] >> (i % 2 * 4) & 15;
    seen.push_back(code < 8 ? code : code - 16);
  }
  EXPECT_EQ(*std::ranges::min_element(seen), -3);
  EXPECT_EQ(*std::ranges::max_element(seen), 2);
  EXPECT_EQ(bytes.back() >> 4, 0);
  fill_range(kUint4, bytes.data(), 101, 7, {15, 15});
  EXPECT_EQ(bytes[0], 0xff);
  fill_range(kFloat4, bytes.data(), 101, 7, {6, 6});
  EXPECT_EQ(bytes[0], 0x77) << "6 is the largest number of float4_e2m1";
}

TEST(NumberRange, PowersOfTwoStandForEveryNumberOfE8m0) {
  std::array<uint8_t, 64> bytes{};
  fill_range(kE8m0, bytes.data(), bytes.size(), 1, {0.25L, 8});
  EXPECT_GE(*std::ranges::min_element(bytes), 125);
  EXPECT_EQ(*std::ranges::max_element(bytes), 130);
  EXPECT_FALSE(check_range(kE8m0, {-1, 1}).ok());
}

TEST(NumberRange, EndsBeyondATypeAndRangesWithoutAWholeNumberAreErrors) {
  EXPECT_TRUE(check_range(kInt8, {-128, 127}).ok());
  EXPECT_EQ(check_range(kInt8, {-129, 0}).message(), "-129..0 is out of range for int8, which holds -128..127");
  EXPECT_FALSE(check_range(kInt8, {0.1L, 0.9L}).ok());
  EXPECT_TRUE(check_range(kInt64, {static_cast<long double>(INT64_MIN), static_cast<long double>(INT64_MAX)}).ok());
  EXPECT_FALSE(check_range(kInt64, {0, static_cast<long double>(INT64_MAX) + 1}).ok());
  EXPECT_TRUE(check_range(kUint64, {0, static_cast<long double>(UINT64_MAX)}).ok());
  EXPECT_FALSE(check_range(kElementString, {0, 1}).ok());
}

TEST(NumberRange, TextsAreExactForWholeNumbers) {
  EXPECT_EQ(to_text(NumberRange{-9, static_cast<long double>(UINT64_MAX)}), "-9..18446744073709551615");
  EXPECT_EQ(to_text(NumberRange{0.5L, 2}), "0.5..2");
}

}  // namespace
}  // namespace tensortap::onnxruntime
