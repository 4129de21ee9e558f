#include "shards/join_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace tensortap {
namespace {

template <class T>
WholeTensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  WholeTensor made{{dtype, shape}, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

template <class T>
std::vector<T> values_of(const WholeTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TensorStats stats_of(const std::vector<double>& values) {
  TensorStats stats;
  stats.valid = kStatFull;
  stats.count = values.size();
  double sum = 0;
  double squares = 0;
  stats.min = stats.max = values.front();
  stats.absmax = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    stats.min = std::min(stats.min, value);
    stats.max = std::max(stats.max, value);
    stats.absmax = std::max(stats.absmax, std::abs(value));
    stats.zero += value == 0 ? 1 : 0;
    stats.positive += value > 0 ? 1 : 0;
    stats.negative += value < 0 ? 1 : 0;
  }
  const auto count = static_cast<double>(values.size());
  stats.mean = sum / count;
  stats.l2 = std::sqrt(squares);
  stats.std = std::sqrt(std::max(squares / count - stats.mean * stats.mean, 0.0));
  return stats;
}

// B15
TEST(JoinTensors, PartsFollowEachOtherAlongTheirDimension) {
  const std::vector<WholeTensor> rows = {tensor_of<float>(DType::kFloat32, {1, 3}, {0, 1, 2}),
                                         tensor_of<float>(DType::kFloat32, {2, 3}, {3, 4, 5, 6, 7, 8})};
  const auto by_rows = join_tensors(rows, {0, "tp", ShardWay::kCut});
  ASSERT_TRUE(by_rows.ok()) << by_rows.status().message();
  EXPECT_EQ(by_rows->desc.shape, Shape({3, 3}));
  EXPECT_THAT(values_of<float>(*by_rows), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));

  const std::vector<WholeTensor> columns = {tensor_of<int16_t>(DType::kInt16, {2, 1, 2}, {0, 1, 10, 11}),
                                            tensor_of<int16_t>(DType::kInt16, {2, 0, 2}, {}),
                                            tensor_of<int16_t>(DType::kInt16, {2, 2, 2}, {2, 3, 4, 5, 12, 13, 14, 15})};
  const auto by_columns = join_tensors(columns, {1, "tp", ShardWay::kCut});
  ASSERT_TRUE(by_columns.ok()) << by_columns.status().message();
  EXPECT_EQ(by_columns->desc.shape, Shape({2, 3, 2}));
  EXPECT_THAT(values_of<int16_t>(*by_columns), testing::ElementsAre(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15));
}

TEST(JoinTensors, ZigzagGivesEachRankOnePartFromEachEnd) {
  const std::vector<WholeTensor> parts = {tensor_of<int32_t>(DType::kInt32, {4}, {0, 1, 10, 11}),
                                          tensor_of<int32_t>(DType::kInt32, {4}, {2, 3, 8, 9}),
                                          tensor_of<int32_t>(DType::kInt32, {4}, {4, 5, 6, 7})};
  const auto whole = join_tensors(parts, {0, "cp", ShardWay::kZigzag});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_THAT(values_of<int32_t>(*whole), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(JoinTensors, SumsAreMadeInDouble) {
  const std::vector<WholeTensor> parts = {tensor_of<float>(DType::kFloat32, {2}, {1, 16777216}),
                                          tensor_of<float>(DType::kFloat32, {2}, {2, 1})};
  const auto whole = join_tensors(parts, {0, "tp", ShardWay::kSum});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->desc.dtype, DType::kFloat64);
  EXPECT_THAT(values_of<double>(*whole), testing::ElementsAre(3, 16777217));
}

TEST(JoinTensors, WhatDoesNotFitIsRefused) {
  const std::vector<WholeTensor> parts = {tensor_of<float>(DType::kFloat32, {1, 2}, {0, 1}),
                                          tensor_of<float>(DType::kFloat32, {1, 3}, {0, 1, 2})};
  EXPECT_EQ(join_tensors(parts, {0, "tp", ShardWay::kCut}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(join_tensors(parts, {2, "tp", ShardWay::kCut}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(join_tensors(parts, {0, "tp", ShardWay::kSum}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(join_tensors(parts, {1, "tp", ShardWay::kZigzag}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(join_tensors(parts, {1, "tp", ShardWay::kCut}).ok());
}

TEST(JoinTensors, StatisticsOfTheWholeAreThoseOfItsElements) {
  const std::vector<double> first = {1, -2, 3, 0.5};
  const std::vector<double> second = {-7, 0};
  std::vector<double> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const TensorStats expected = stats_of(all);
  const std::vector<TensorStats> parts = {stats_of(first), stats_of(second)};
  const TensorStats whole = joined_stats(parts, {0, "tp", ShardWay::kCut});
  EXPECT_EQ(whole.valid, uint32_t{kStatFull});
  EXPECT_EQ(whole.count, expected.count);
  EXPECT_EQ(whole.min, expected.min);
  EXPECT_EQ(whole.max, expected.max);
  EXPECT_EQ(whole.absmax, expected.absmax);
  EXPECT_EQ(whole.zero, expected.zero);
  EXPECT_EQ(whole.negative, expected.negative);
  EXPECT_DOUBLE_EQ(whole.mean, expected.mean);
  EXPECT_NEAR(whole.std, expected.std, 1e-12);
  EXPECT_NEAR(whole.l2, expected.l2, 1e-12);
  EXPECT_EQ(joined_stats(parts, {0, "tp", ShardWay::kSum}).valid, 0U);
}

}  // namespace
}  // namespace tensortap
