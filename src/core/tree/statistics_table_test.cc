#include "tree/statistics_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StatisticColumn kColumns[] = {
    {.header = "Slot", .required = true, .read = [](std::string_view cell, StatisticLine& line) { return read_slot(cell, line.slot); }},
    {.header = "Largest",
     .word = "max",
     .needs = kStatMax,
     .write = [](const StatisticRow& row, std::string& text) { append_six_digits(row.record->stats.max, text); },
     .read = [](std::string_view cell, StatisticLine& line) { return read_float(cell, line.stats.max); }},
    {.header = "MD5",
     .word = "md5",
     .digest = DigestKind::kMd5,
     .write = [](const StatisticRow& row, std::string& text) { append_hex(row.digests->md5, text); },
     .read = [](std::string_view cell, StatisticLine& line) { return read_hex(cell, DigestKind::kMd5, line); }},
};

TEST(StatisticsTable, WritesTheChosenColumnsInTheirOrder) {
  const ChosenColumns chosen("Slot", {&kColumns[2], &kColumns[1], &kColumns[1]}, true);
  EXPECT_EQ(chosen.header(), "Slot,MD5,Largest,Largest\n");
  EXPECT_TRUE(chosen.has(DigestKind::kMd5));
  EXPECT_FALSE(chosen.has(DigestKind::kSha1));
  RecordRow record;
  record.stats.max = 1234567;
  StatisticDigests digests;
  digests.md5.kind = DigestKind::kMd5;
  digests.md5.bytes[0] = 0xab;
  std::string text = "7";
  chosen.append_cells({.record = &record, .digests = &digests}, text);
  EXPECT_EQ(text, "7,ab000000000000000000000000000000,1.23457e+06,1.23457e+06,\n");
}

TEST(StatisticsTable, ReadsColumnsInAnyOrderAndPassesOverUnknownOnes) {
  TreeProblems problems;
  const auto lines = read_statistics("Largest,Other,Slot\n-inf,\"a,b\",3\n\n+nan,,4\r\n", kColumns, "s.csv", problems);
  EXPECT_THAT(problems.take(), IsEmpty());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].slot, 3U);
  EXPECT_EQ(lines[0].stats.max, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(lines[1].stats.max));
}

TEST(StatisticsTable, ExtremesOfIntegersAreExact) {
  TreeProblems problems;
  const auto lines = read_statistics("Slot,Largest\n0,9007199254740993\n1,1e300\n2,0.5\n", kColumns, "s.csv", problems);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].stats.max_integer, 9007199254740993);
  EXPECT_EQ(lines[1].stats.max_integer, INT64_MAX);
  EXPECT_EQ(lines[2].stats.max_integer, 0);
}

TEST(StatisticsTable, ReportsEachRowThatItSkips) {
  TreeProblems problems;
  EXPECT_EQ(read_statistics("Slot,MD5\nx,\n1,zz\n1\n70000,\n", kColumns, "s.csv", problems).size(), 0U);
  EXPECT_THAT(problems.take(), ElementsAre(HasSubstr("s.csv:2: column \"Slot\": \"x\""), HasSubstr("s.csv:3: column \"MD5\": \"zz\""),
                                           HasSubstr("s.csv:4: 1 cells, the header has 2 columns"), HasSubstr("s.csv:5: column \"Slot\"")));
  EXPECT_THAT(read_statistics("Largest\n1\n", kColumns, "s.csv", problems), IsEmpty());
  EXPECT_THAT(problems.take(), ElementsAre(HasSubstr("the column \"Slot\" is missing")));
  EXPECT_THAT(read_statistics("", kColumns, "s.csv", problems), IsEmpty());
  EXPECT_THAT(problems.take(), ElementsAre("s.csv: is empty"));
}

TEST(StatisticsTable, CellsThatAreMissingMayBeMended) {
  TreeProblems problems;
  const auto lines =
      read_statistics("Slot,Largest\n5\n", kColumns, "s.csv", problems, [](std::vector<std::string_view>& cells, size_t columns) {
        while (cells.size() < columns) cells.emplace_back("2");
      });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].stats.max, 2);
}

TEST(TreeProblems, KeepsFiftyOfAKindAndCountsTheOthers) {
  TreeProblems problems;
  for (int i = 0; i < 53; ++i) problems.add(Skipped::kTensorFile, concat("file ", i));
  problems.add(Skipped::kForeign, "x");
  const std::vector<std::string> sentences = problems.take();
  ASSERT_EQ(sentences.size(), 52U);
  EXPECT_EQ(sentences[49], "file 49");
  EXPECT_EQ(sentences[50], "x");
  EXPECT_EQ(sentences[51], "and 3 more damaged tensor files");
  EXPECT_THAT(problems.take(), IsEmpty());
}

}  // namespace
}  // namespace tensortap
