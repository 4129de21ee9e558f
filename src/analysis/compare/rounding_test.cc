#include "compare/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr DType kNarrow[] = {DType::kFloat16,    DType::kBFloat16,       DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                             DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0,   DType::kFloat4E2M1};

// The finite values of a type from 0 (or its smallest) on.
std::vector<double> values_of(DType dtype) {
  const unsigned bits = dtype_info(dtype).bits;
  const unsigned codes = 1U << (dtype == DType::kFloat8E8M0 ? bits : bits - 1);
  std::vector<double> values;
  for (unsigned code = 0; code < codes; ++code) {
    const auto word = static_cast<uint16_t>(code);
    double value = 0;
    to_float64(dtype, &word, 0, 1, &value);
    if (!std::isfinite(value)) break;
    values.push_back(value);
  }
  return values;
}

int64_t ordinal(DType dtype, double value) {
  int64_t place = 0;
  to_ordinals(dtype, {&value, 1}, &place);
  return place;
}

double rounded(DType dtype, double value) {
  double result = 0;
  round_to(dtype, {&value, 1}, &result);
  return result;
}

TEST(Rounding, EveryValueStandsAtItsPlace) {
  for (const DType dtype : kNarrow) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::vector<double> values = values_of(dtype);
    ASSERT_GE(values.size(), 8U);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(ordinal(dtype, values[i]), static_cast<int64_t>(i)) << values[i];
      ASSERT_EQ(rounded(dtype, values[i]), values[i]);
      if (dtype == DType::kFloat8E8M0) continue;
      ASSERT_EQ(ordinal(dtype, -values[i]), -static_cast<int64_t>(i));
      ASSERT_EQ(rounded(dtype, -values[i]), -values[i]);
    }
  }
}

TEST(Rounding, IsToTheNearestAndInTheMiddleToTheEven) {
  for (const DType dtype : kNarrow) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::vector<double> values = values_of(dtype);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const double middle = values[i] + (values[i + 1] - values[i]) / 2;
      const double even = i % 2 == 0 ? values[i] : values[i + 1];
      ASSERT_EQ(rounded(dtype, middle), even) << middle;
      ASSERT_EQ(rounded(dtype, std::nextafter(middle, 0)), values[i]) << middle;
      ASSERT_EQ(rounded(dtype, std::nextafter(middle, HUGE_VAL)), values[i + 1]) << middle;
      ASSERT_EQ(ordinal(dtype, std::nextafter(middle, HUGE_VAL)), static_cast<int64_t>(i + 1)) << middle;
    }
  }
}

TEST(Rounding, BeyondTheLargestValue) {
  EXPECT_EQ(rounded(DType::kFloat16, 65519.99), 65504);
  EXPECT_EQ(rounded(DType::kFloat16, 65520), HUGE_VAL);
  EXPECT_EQ(rounded(DType::kFloat8E5M2, 61439), 57344);
  EXPECT_EQ(rounded(DType::kFloat8E5M2, -61440), -HUGE_VAL);
  EXPECT_EQ(rounded(DType::kFloat8E4M3FN, 1e30), 448);
  EXPECT_EQ(rounded(DType::kFloat8E4M3FN, -HUGE_VAL), -448);
  EXPECT_TRUE(std::isnan(rounded(DType::kFloat8E4M3FN, std::nan(""))));
  EXPECT_EQ(rounded(DType::kFloat8E8M0, -3), 0x1p-127);  // which has no negative numbers
  EXPECT_EQ(rounded(DType::kFloat32, 1e300), HUGE_VAL);
  EXPECT_EQ(rounded(DType::kFloat64, 1e300), 1e300);
}

TEST(Rounding, TheNarrowerTypeHasFewerDigits) {
  EXPECT_EQ(narrower(DType::kFloat32, DType::kFloat64), DType::kFloat32);
  EXPECT_EQ(narrower(DType::kBFloat16, DType::kFloat16), DType::kBFloat16);
  EXPECT_EQ(narrower(DType::kFloat8E5M2, DType::kFloat8E4M3FN), DType::kFloat8E5M2);
  EXPECT_EQ(narrower(DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ), DType::kFloat8E4M3FNUZ);
  EXPECT_EQ(significand_digits(DType::kInt8), 0);
}

}  // namespace
}  // namespace tensortap
