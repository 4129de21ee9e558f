#include "system/ascend/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tensortap::ascend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHeader =
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf "
    "Count\n";

TEST(StatisticRead, TakesTheRowsOfBothProducers) {
  TreeProblems problems;
  const auto lines = read_statistic_table(std::string(kHeader) +
                                              "Input,0,24,DT_FLOAT,ND,2x3,6,-9.75,0.833333,6,0,0,0\n"
                                              "Output,1,4,-,NCHW,-,,,,,,,\r\n"
                                              "Output,2,8,DT_BF16,NC1HWC0,4,inf,-inf,-nan,4,1,1,2\n",
                                          "T.csv", problems);
  EXPECT_THAT(problems.take(), IsEmpty());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].is_input);
  EXPECT_EQ(lines[0].desc.shape, Shape({2, 3}));
  EXPECT_EQ(lines[0].stats.min, -9.75);
  EXPECT_EQ(lines[0].stats.valid & kStatL2, 0U);
  EXPECT_EQ(lines[1].stats.valid, 0U);
  EXPECT_EQ(lines[1].slot, 1U);
  EXPECT_EQ(lines[2].desc.dtype, DType::kBFloat16);
  EXPECT_EQ(lines[2].format, 3);
  EXPECT_TRUE(std::isnan(lines[2].stats.mean) && std::isinf(lines[2].stats.max));
  EXPECT_EQ(lines[2].stats.pos_inf, 2U);
}

TEST(StatisticRead, IntegersAreExact) {
  TreeProblems problems;
  const auto lines = read_statistic_table(std::string(kHeader) +
                                              "Output,0,8,DT_INT64,ND,1,9007199254740993,-9223372036854775807,0,1,0,0,0\n"
                                              "Output,1,8,DT_UINT64,ND,1,18446744073709551615,9223372036854775809,0,1,0,0,0\n"
                                              "Output,2,8,DT_INT64,ND,1,1e+06,-1e+30,0,1,0,0,0\n",
                                          "T.csv", problems);
  EXPECT_THAT(problems.take(), IsEmpty());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].stats.max_integer, 9007199254740993);
  EXPECT_EQ(lines[0].stats.min_integer, -9223372036854775807);
  EXPECT_EQ(static_cast<uint64_t>(lines[1].stats.max_integer), UINT64_MAX);
  EXPECT_EQ(static_cast<uint64_t>(lines[1].stats.min_integer), 9223372036854775809U);
  EXPECT_EQ(lines[2].stats.max_integer, 1000000);
  EXPECT_EQ(lines[2].stats.min_integer, INT64_MIN);
}

TEST(StatisticRead, TakesARowOfATensorThatFailedOneCellShort) {
  TreeProblems problems;
  const auto lines = read_statistic_table(
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max "
      "Value,l2norm\nOutput,0,8,DT_FLOAT,ND,2,NA,NA\nOutput,1,8,DT_FLOAT,ND,2,2,4,5\n",
      "T.csv", problems);
  EXPECT_THAT(problems.take(), IsEmpty());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].stats.valid, 0U);
  EXPECT_EQ(lines[1].stats.l2, 5);
  EXPECT_EQ(lines[1].stats.count, 2U);
}

TEST(StatisticRead, TellsWhatItLeavesOut) {
  TreeProblems problems;
  EXPECT_EQ(read_statistic_table(
                std::string(kHeader) + "Input,x,24,DT_FLOAT,ND,2,6,1,1,6,0,0,0\nInput,0,24\nInput,0,24,DT_FLOAT,ND,2,6,1,1,6,0,0,0\n",
                "T.csv", problems)
                .size(),
            1U);
  EXPECT_THAT(problems.take(), ElementsAre(HasSubstr("T.csv:2: column \"Index\""), HasSubstr("T.csv:3: 3 cells")));
  EXPECT_THAT(read_statistic_table("a,b\n1,2\n", "T.csv", problems), IsEmpty());
  EXPECT_THAT(problems.take(), ElementsAre(HasSubstr("T.csv: line 1")));
  EXPECT_THAT(read_statistic_table("", "T.csv", problems), IsEmpty());
  EXPECT_THAT(problems.take(), ElementsAre(HasSubstr("T.csv: is empty")));
}

}  // namespace
}  // namespace tensortap::ascend
