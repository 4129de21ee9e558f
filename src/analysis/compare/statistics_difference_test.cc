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
  const StatisticsDifference found = compare_statistics(row_of(3, 5), row_of(4, 5));
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
  EXPECT_EQ(compare_statistics(row_of(nan, 0), row_of(nan, 0)).max_relative, 0);
  EXPECT_EQ(compare_statistics(row_of(HUGE_VAL, 0), row_of(HUGE_VAL, 0)).max_relative, 0);
  EXPECT_EQ(compare_statistics(row_of(nan, 0), row_of(1, 0)).max_relative, HUGE_VAL);
  EXPECT_EQ(compare_statistics(row_of(1, 0), row_of(0, 0)).max_relative, HUGE_VAL);
  EXPECT_EQ(compare_statistics(row_of(0, 0), row_of(2, 0)).max_relative, 1);
}

TEST(StatisticsDifference, CountsOfNonFiniteElementsAreToldApart) {
  RecordRow a = row_of(1, 0);
  RecordRow b = a;
  a.stats.valid |= kStatNegInf;
  b.stats.valid |= kStatNegInf | kStatSampled;
  EXPECT_FALSE(compare_statistics(a, b).nonfinite_differs);
  EXPECT_TRUE(compare_statistics(a, b).sampled);
  a.stats.neg_inf = 1;
  EXPECT_TRUE(compare_statistics(a, b).nonfinite_differs);
  b.stats.valid = 0;
  EXPECT_FALSE(compare_statistics(a, b).any_known);
}

TEST(StatisticsDifference, OnlyDigestsOfOneKindSayThatTensorsAreEqual) {
  RecordRow a = row_of(1, 0);
  RecordRow b = a;
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
  a.digest_kind = static_cast<uint8_t>(DigestKind::kSha1);
  a.digest[19] = 7;
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
  b.digest_kind = static_cast<uint8_t>(DigestKind::kMd5);
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
  b.digest_kind = a.digest_kind;
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kDifferent);
  b.digest[19] = 7;
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kEqual);
  b.dtype = static_cast<uint8_t>(DType::kInt32);
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
  b.dtype = a.dtype;
  b.numel = 11;
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
  a.digest_kind = b.digest_kind = 77;  // of a damaged file
  EXPECT_EQ(compare_statistics(a, b).digest, DigestAnswer::kUnknown);
}

}  // namespace
}  // namespace tensortap
