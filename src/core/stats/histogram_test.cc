#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "stats/histogram.h"
#include "stats/stats.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// The definition itself, by way of frexp.
ExponentHistogram histogram_by_frexp(const std::vector<double>& values) {
  ExponentHistogram histogram;
  for (const double value : values) {
    if (std::isnan(value)) {
      ++histogram.nan;
    } else if (std::isinf(value)) {
      ++histogram.inf;
    } else if (value == 0) {
      ++histogram.zero;
    } else {
      int exponent = 0;
      std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
      ++histogram.bins[std::clamp(exponent - 1 + 150, 0, ExponentHistogram::kBins - 1)];
    }
  }
  return histogram;
}

bool same(const ExponentHistogram& a, const ExponentHistogram& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

class Histogram : public testing::TestWithParam<DType> {};

TEST_P(Histogram, CountsWhatFrexpSays) {
  const DType dtype = GetParam();
  std::mt19937_64 random(1);
  for (const uint64_t size : {1U, 5U, 2047U, 2048U, 70000U}) {
    std::vector<uint8_t> bytes(*packed_bytes(dtype, size) + 1);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    std::vector<double> values(size);
    // At an odd address.
    std::memmove(bytes.data() + 1, bytes.data(), bytes.size() - 1);
    to_float64(dtype, bytes.data() + 1, 0, size, values.data());
    ExponentHistogram histogram;
    add_to_histogram({{dtype, Shape{static_cast<int64_t>(size)}}, bytes.data() + 1, nullptr}, histogram);
    EXPECT_TRUE(same(histogram, histogram_by_frexp(values))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Histogram,
                         testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kInt8, DType::kUInt16,
                                         DType::kInt32, DType::kUInt64, DType::kFloat8E5M2, DType::kInt4, DType::kBool, DType::kFloat8E8M0),
                         [](const auto& parameter) { return std::string(dtype_name(parameter.param)); });

TEST(ExponentHistogram, AllFloat16PatternsAndSubnormalOnes) {
  std::vector<uint16_t> bits(1 << 16);
  std::vector<double> values(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  to_float64(DType::kFloat16, bits.data(), 0, bits.size(), values.data());
  ExponentHistogram histogram;
  add_to_histogram({{DType::kFloat16, Shape{1 << 16}}, bits.data(), nullptr}, histogram);
  EXPECT_TRUE(same(histogram, histogram_by_frexp(values)));
  EXPECT_EQ(histogram.inf, 2U);
  EXPECT_EQ(histogram.zero, 2U);
}

TEST(ExponentHistogram, StridedAndComplexViews) {
  const std::vector<float> data = {1, 99, 2, 99, 0, 99, -4, 99};
  const int64_t every_second = 2;
  ExponentHistogram histogram;
  add_to_histogram({{DType::kFloat32, Shape{4}}, data.data(), &every_second}, histogram);
  EXPECT_EQ(histogram.bins[150], 1U);
  EXPECT_EQ(histogram.bins[151], 1U);
  EXPECT_EQ(histogram.bins[152], 1U);
  EXPECT_EQ(histogram.zero, 1U);
  const std::vector<float> complex = {3, 4, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  ExponentHistogram moduli;
  add_to_histogram({{DType::kComplex64, Shape{2}}, complex.data(), nullptr}, moduli);
  EXPECT_EQ(moduli.bins[152], 1U) << "5";
  EXPECT_EQ(moduli.nan, 1U);
}

TEST(ExponentHistogram, AddsUpAndMerges) {
  const std::vector<float> a = {1, 2, 3, 0};
  const std::vector<float> b = {-1.5F, 1e-45F, std::numeric_limits<float>::infinity()};
  ExponentHistogram both;
  add_to_histogram({{DType::kFloat32, Shape{4}}, a.data(), nullptr}, both);
  add_to_histogram({{DType::kFloat32, Shape{3}}, b.data(), nullptr}, both);
  EXPECT_EQ(both.bins[150], 2U);
  EXPECT_EQ(both.bins[151], 2U);
  EXPECT_EQ(both.bins[1], 1U) << "2^-149";
  ExponentHistogram second;
  add_to_histogram({{DType::kFloat32, Shape{3}}, b.data(), nullptr}, second);
  ExponentHistogram merged;
  add_to_histogram({{DType::kFloat32, Shape{4}}, a.data(), nullptr}, merged);
  merge_histogram(second, merged);
  EXPECT_TRUE(same(merged, both));
}

TEST(ExponentHistogram, QuantileBoundsHoldTheQuantile) {
  std::mt19937 random(5);
  std::lognormal_distribution<double> lognormal(0, 3);
  std::vector<double> values(10001);
  for (double& value : values) value = lognormal(random);
  ExponentHistogram histogram;
  add_to_histogram({{DType::kFloat64, Shape{10001}}, values.data(), nullptr}, histogram);
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    const QuantileBounds bounds = quantile_bounds(histogram, q);
    const double quantile = values[static_cast<size_t>(std::ceil(q * 10001)) - 1];
    EXPECT_LE(bounds.low, quantile) << q;
    EXPECT_GT(bounds.high, quantile) << q;
    EXPECT_EQ(bounds.high, bounds.low * 2);
  }
}

TEST(ExponentHistogram, QuantileBoundsAtTheEnds) {
  ExponentHistogram histogram;
  EXPECT_EQ(quantile_bounds(histogram, 0.5).high, 0);
  histogram.bins[0] = 1;
  EXPECT_EQ(quantile_bounds(histogram, 0).low, 0);
  EXPECT_EQ(quantile_bounds(histogram, 0).high, 0x1p-149);
  histogram.bins[ExponentHistogram::kBins - 1] = 1;
  EXPECT_EQ(quantile_bounds(histogram, 1).high, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tensortap
