#include "compare/statistics_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "tensor/digest_text.h"
#include "tensor/dtype.h"
#include "trace/record_row.h"

namespace tensortap {
namespace {

RecordRow row_of(double mean, uint64_t zero) {
  RecordRow row;
  row.dtype = static_cast<uint8_t>(DType::kFloat32);
  row.numel = 10;
  row.stats.valid = kStatMean | kStatZero;
  row.stats.mean = mean;
  row.stats.zero = zero;
  return row;
}

const StatisticDifference& value(const StatisticsDifference& difference, std::string_view name) {
  for (size_t i = 0; i < kStatisticTable.size(); ++i) {
    if (kStatisticTable[i].name == name) return difference.values[i];
  }
  return difference.values[0];
}

TEST(StatisticsDifference, IsRelativeToTheReference) {
  const StatisticsDifference found = compare_statistics(row_of(3, 5), row_of(4, 5), false);
  EXPECT_TRUE(found.any_known);
  EXPECT_TRUE(value(found, "mean").known);
  EXPECT_EQ(value(found, "mean").difference, -1);
  EXPECT_EQ(value(found, "mean").relative, 0.25);
  EXPECT_EQ(found.max_relative, 0.25);
  EXPECT_TRUE(value(found, "zero").known);
  EXPECT_EQ(value(found, "zero").difference, 0);
  EXPECT_FALSE(value(found, "l2").known);
  EXPECT_FALSE(found.nonfinite_differs);
  EXPECT_FALSE(found.sampled);
}

TEST(StatisticsDifference, OfNanInfinityAndZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare_statistics(row_of(nan, 0), row_of(nan, 0), false).max_relative, 0);
  EXPECT_EQ(compare_statistics(row_of(HUGE_VAL, 0), row_of(HUGE_VAL, 0), false).max_relative, 0);
  EXPECT_EQ(compare_statistics(row_of(nan, 0), row_of(1, 0), false).max_relative, HUGE_VAL);
  EXPECT_EQ(compare_statistics(row_of(1, 0), row_of(0, 0), false).max_relative, HUGE_VAL);
  EXPECT_EQ(compare_statistics(row_of(0, 0), row_of(2, 0), false).max_relative, 1);
}

TEST(StatisticsDifference, OfSumsWithOtherRoundingIsNone) {
  RecordRow a = row_of(3, 0);
  a.stats.valid = kStatMin | kStatMean | kStatStd | kStatL2 | kStatMeanAbs;
  a.stats.count = 100;
  a.stats.min = 1;
  a.stats.std = 2;
  a.stats.l2 = 10 * std::sqrt(13.0);
  a.stats.mean_abs = 3;
  RecordRow b = a;
  const auto gap = [&](bool rounded_otherwise) { return compare_statistics(a, b, rounded_otherwise).max_relative; };
  b.stats.mean += 1e-6;
  b.stats.std -= 1e-6;
  b.stats.l2 += 1e-5;
  b.stats.mean_abs += 1e-12;
  EXPECT_GT(gap(false), 0);
  EXPECT_EQ(gap(true), 0);
  a.dtype = b.dtype = static_cast<uint8_t>(DType::kFloat64);
  EXPECT_GT(gap(true), 0) << "sums of doubles are exact to 38 bits";
  a.dtype = b.dtype = static_cast<uint8_t>(DType::kFloat32);
  b.stats.mean_abs += 1e-9;
  EXPECT_GT(gap(true), 0);
  b = a;
  b.stats.mean += 1e-3;
  EXPECT_GT(gap(true), 0);
  b = a;
  b.stats.min = std::nextafter(1.0, 2.0);
  EXPECT_GT(gap(true), 0) << "extremes are exact";
  b = a;
  b.stats.mean = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(gap(true), HUGE_VAL);
  b = a;
  a.stats.l2 = b.stats.l2 = HUGE_VAL;
  b.stats.mean += 1e-6;
  EXPECT_GT(gap(true), 0) << "nothing is known of the size";
}

TEST(StatisticsDifference, CountsOfNonFiniteElementsAreToldApart) {
  RecordRow a = row_of(1, 0);
  RecordRow b = a;
  a.stats.valid |= kStatNegInf;
  b.stats.valid |= kStatNegInf | kStatSampled;
  EXPECT_FALSE(compare_statistics(a, b, false).nonfinite_differs);
  EXPECT_TRUE(compare_statistics(a, b, false).sampled);
  a.stats.neg_inf = 1;
  EXPECT_TRUE(compare_statistics(a, b, false).nonfinite_differs);
  b.stats.valid = 0;
  EXPECT_FALSE(compare_statistics(a, b, false).any_known);
}

TEST(StatisticsDifference, OnlyDigestsOfOneKindSayThatTensorsAreEqual) {
  RecordRow a = row_of(1, 0);
  RecordRow b = a;
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
  a.digest_kind = static_cast<uint8_t>(DigestKind::kSha1);
  a.digest[19] = 7;
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
  b.digest_kind = static_cast<uint8_t>(DigestKind::kMd5);
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
  b.digest_kind = a.digest_kind;
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kDifferent);
  b.digest[19] = 7;
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kEqual);
  b.dtype = static_cast<uint8_t>(DType::kInt32);
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
  b.dtype = a.dtype;
  b.numel = 11;
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
  a.digest_kind = b.digest_kind = 77;  // of a damaged file
  EXPECT_EQ(compare_statistics(a, b, false).digest, DigestAnswer::kUnknown);
}

}  // namespace
}  // namespace tensortap
