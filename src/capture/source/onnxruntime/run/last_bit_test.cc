#include "source/onnxruntime/run/last_bit.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/number_formats.h"

namespace tensortap::onnxruntime {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

TEST(LastBit, EachNumberBecomesOneOfItsNeighbours) {
  std::vector<float> values;
  for (int i = 1; i <= 1000; ++i) values.push_back((i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(i) * 0.37F);
  std::vector<float> moved = values;
  move_by_last_bit(DType::kFloat32, moved.data(), moved.size(), 5);
  int up = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool above = moved[i] == std::nextafter(values[i], kInf);
    EXPECT_TRUE(above || moved[i] == std::nextafter(values[i], -kInf)) << values[i];
    up += above ? 1 : 0;
  }
  EXPECT_NEAR(up, 500, 100) << "as often up as down";
  std::vector<float> again = values;
  move_by_last_bit(DType::kFloat32, again.data(), again.size(), 5);
  EXPECT_EQ(again, moved);
  move_by_last_bit(DType::kFloat32, again.data(), again.size(), 6);
  EXPECT_NE(again, moved);
}

TEST(LastBit, ZeroNanAndInfStayAndNothingBecomesOne) {
  const std::array<float, 7> values = {0.0F, -0.0F, kInf, -kInf, kLargest, -kLargest, kLeast};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::array<float, 8> moved{};
    std::memcpy(moved.data(), values.data(), sizeof values);
    moved[7] = std::numeric_limits<float>::quiet_NaN();
    move_by_last_bit(DType::kFloat32, moved.data(), moved.size(), seed);
    EXPECT_EQ(std::memcmp(moved.data(), values.data(), 4 * sizeof(float)), 0);
    EXPECT_EQ(moved[4], std::nextafter(kLargest, 0.0F));
    EXPECT_EQ(moved[5], std::nextafter(-kLargest, 0.0F));
    EXPECT_EQ(moved[6], 2 * kLeast);
    EXPECT_EQ(std::bit_cast<uint32_t>(moved[7]), std::bit_cast<uint32_t>(std::numeric_limits<float>::quiet_NaN()));
  }
}

TEST(LastBit, EveryFloatingTypeOf16BitsAndMoreMoves) {
  std::array<double, 2> wide = {1, 1};
  move_by_last_bit(DType::kFloat64, wide.data(), 2, 1);
  EXPECT_EQ(std::abs(std::bit_cast<int64_t>(wide[0]) - std::bit_cast<int64_t>(1.0)), 1);
  move_by_last_bit(DType::kComplex128, wide.data(), 1, 2);
  EXPECT_LE(std::abs(std::bit_cast<int64_t>(wide[1]) - std::bit_cast<int64_t>(1.0)), 2);
  std::array<uint16_t, 2> half = {float_to_float16(1), 0x7bff};
  move_by_last_bit(DType::kFloat16, half.data(), 2, 1);
  EXPECT_EQ(std::abs(half[0] - float_to_float16(1)), 1);
  EXPECT_EQ(half[1], 0x7bfe) << "the largest number does not become Inf";
  std::array<uint16_t, 2> brain = {float_to_bfloat16(-1), 0x7f80};
  move_by_last_bit(DType::kBFloat16, brain.data(), 2, 1);
  EXPECT_EQ(std::abs(brain[0] - float_to_bfloat16(-1)), 1);
  EXPECT_EQ(brain[1], 0x7f80);
}

TEST(LastBit, AConversionToANarrowerTypeDoesNotRoundTheStepAway) {
  std::vector<float> values;
  for (int i = 1; i <= 400; ++i) values.push_back((i % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(i) * 0.37F);
  std::vector<float> moved = values;
  move_by_last_bit(DType::kFloat32, DType::kFloat16, moved.data(), moved.size(), 5);
  std::vector<double> wide(values.begin(), values.end());
  move_by_last_bit(DType::kFloat64, DType::kBFloat16, wide.data(), wide.size(), 5);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::abs(float_to_float16(moved[i]) - float_to_float16(values[i])), 2) << values[i];
    EXPECT_NE(float_to_float16(moved[i]), float_to_float16(values[i])) << values[i];
    EXPECT_NE(float_to_bfloat16(static_cast<float>(wide[i])), float_to_bfloat16(values[i])) << values[i];
  }
  // A type that is not narrower changes nothing.
  std::vector<float> own = values;
  move_by_last_bit(DType::kFloat32, DType::kFloat32, own.data(), own.size(), 5);
  move_by_last_bit(DType::kFloat32, values.data(), values.size(), 5);
  EXPECT_EQ(own, values);
}

TEST(LastBit, WhatTheNarrowerTypeDoesNotHoldMovesByItsOwnLastBit) {
  std::array<float, 5> values = {1e-9F, 1e6F, 0.0F, kInf, 65504.0F};
  move_by_last_bit(DType::kFloat32, DType::kFloat16, values.data(), values.size(), 3);
  EXPECT_NEAR(values[0], 1e-9F, 1e-15F);
  EXPECT_NE(values[0], 1e-9F);
  EXPECT_NEAR(values[1], 1e6F, 0.1F);
  EXPECT_NE(values[1], 1e6F);
  EXPECT_EQ(values[2], 0.0F);
  EXPECT_EQ(values[3], kInf);
  EXPECT_EQ(values[4], 65472.0F) << "the largest number does not become Inf";
}

TEST(LastBit, CodesAndWholeNumbersStay) {
  std::array<int32_t, 2> whole = {1, -7};
  move_by_last_bit(DType::kInt32, whole.data(), 2, 1);
  EXPECT_EQ(whole, (std::array<int32_t, 2>{1, -7}));
  std::array<uint8_t, 1> small = {0x38};
  move_by_last_bit(DType::kFloat8E4M3FN, small.data(), 1, 1);
  EXPECT_EQ(small[0], 0x38);
}

}  // namespace
}  // namespace tensortap::onnxruntime
