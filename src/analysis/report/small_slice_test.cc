#include "report/small_slice.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace tensortap {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string slice(uint32_t rows, uint32_t columns, const std::vector<float>& values, uint32_t per_cell = 1) {
  const std::array<uint32_t, 10> header = {0x534c4943, rows, columns, per_cell, per_cell, rows * per_cell, columns * per_cell, 0, 0, 0};
  std::string bytes(sizeof header + values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), header.data(), sizeof header);
  if (!values.empty()) std::memcpy(bytes.data() + sizeof header, values.data(), values.size() * sizeof(float));
  return bytes;
}

std::vector<float> values_of(const std::string& bytes) {
  std::vector<float> values((bytes.size() - 40) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + 40, values.size() * sizeof(float));
  return values;
}

TEST(SmallSlice, OfCellsThatBecomeOneNanCountsMostThenInfThenTheLargest) {
  const std::string large = slice(3, 5,
                                  {1, -2, 3, 4, 5,        //
                                   1, 1, kInf, -9, -5.5,  //
                                   0, kNan, 7, -8, -8});
  const auto small = small_slice(large, 3);
  ASSERT_TRUE(small.ok());
  const std::vector<float> values = values_of(*small);
  ASSERT_EQ(values.size(), 9U) << "3 rows stay, 5 columns become 3";
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 6), (std::vector<float>{-2, 4, 5, 1, kInf, -5.5}));
  EXPECT_TRUE(std::isnan(values[6]));
  EXPECT_EQ(values[7], -8);
  EXPECT_EQ(*small_slice(large, 5), large);
}

TEST(SmallSlice, CountsTheOriginalRowsAndColumns) {
  const auto small = small_slice(slice(2, 4, {1, -2, 3, 4, 0.5F, 1, kInf, -9}, 3), 2);
  ASSERT_TRUE(small.ok());
  std::array<uint32_t, 10> header{};
  std::memcpy(header.data(), small->data(), sizeof header);
  EXPECT_EQ(header, (std::array<uint32_t, 10>{0x534c4943, 2, 2, 3, 6, 6, 12, 0, 0, 0}));
}

TEST(SmallSlice, WhatIsNoSliceIsAnError) {
  EXPECT_FALSE(small_slice("", 10).ok());
  EXPECT_FALSE(small_slice(std::string(40, 'x'), 10).ok());
  EXPECT_FALSE(small_slice(slice(4, 4, {1, 2, 3}), 10).ok());
  EXPECT_FALSE(small_slice(slice(0xffffffff, 0xffffffff, {1}), 10).ok());
  EXPECT_TRUE(small_slice(slice(0, 0, {}), 10).ok());
  EXPECT_TRUE(small_slice(slice(4000000000, 0, {}), 10).ok());
}

}  // namespace
}  // namespace tensortap
