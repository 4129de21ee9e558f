// statistic.csv: single rows that the real system wrote, and rows that are damaged.

#include "system/mindspore/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <deque>

#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap::mindspore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kHeader = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";

// Lines borrow from their table, which stays until the program ends.
std::vector<StatisticLine> read(std::string text, std::vector<std::string>* said = nullptr) {
  static std::deque<std::string> tables;
  TreeProblems problems;
  auto lines = read_statistic_table(tables.emplace_back(std::move(text)), "statistic.csv", problems);
  const auto sentences = problems.take();
  if (said != nullptr) {
    *said = sentences;
  } else {
    EXPECT_THAT(sentences, IsEmpty());
  }
  return lines;
}

TEST(StatisticTable, ReadsTheExampleOfBothShapes) {
  const auto lines = read(concat(kHeader, ",Max Value,Min Value,L2Norm Value\n",
                                 "Add,Default/Add-op0,0,0,1751700000000001,input,0,24,float32,\"[2,3]\",6,1,9.53939,\n",
                                 "Add,Default_Add-op0,0,0,1751700000000003,output,2,24,bfloat16,\"(2,3)\",18,8,32.9242,\r\n",
                                 "Add,Default_Add-op0,0,0,5,output,1,4,float32,\"()\",1,1,1,\n"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].op_name, "Default/Add-op0");
  EXPECT_EQ(lines[0].time, 1751700000000001U);
  EXPECT_TRUE(lines[0].is_input);
  EXPECT_EQ(lines[0].desc.shape, Shape({2, 3}));
  EXPECT_EQ(lines[0].stats.max, 6);
  EXPECT_EQ(lines[0].stats.l2, 9.53939);
  EXPECT_EQ(lines[0].stats.valid, uint32_t{kStatMax | kStatMin | kStatL2});
  EXPECT_EQ(lines[0].stats.count, 6U);
  EXPECT_EQ(lines[1].slot, 2U);
  EXPECT_FALSE(lines[1].is_input);
  EXPECT_EQ(lines[1].desc.dtype, DType::kBFloat16);
  EXPECT_EQ(lines[1].desc.shape, Shape({2, 3}));
  EXPECT_EQ(lines[2].desc.shape, Shape());
}

TEST(StatisticTable, IntegersHaveWholeExtremes) {
  const auto lines = read(concat(kHeader, ",Max Value,Min Value\n", "A,a,0,0,1,input,0,8,int64,\"[1]\",2048,-7,\n",
                                 "A,a,0,0,2,input,0,8,uint64,\"[1]\",1.84467e+19,0,\n", "A,a,0,0,3,input,0,8,int64,\"[1]\",1e300,null,\n"));
  const auto exact =
      read(concat(kHeader, ",Max Value,Min Value\n", "A,a,0,0,1,input,0,8,int64,\"[1]\",9007199254740993,-9007199254740993,\n"));
  ASSERT_EQ(exact.size(), 1U);
  EXPECT_EQ(exact[0].stats.max_integer, 9007199254740993) << "a device's table has all digits";
  EXPECT_EQ(exact[0].stats.min_integer, -9007199254740993);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].stats.max_integer, 2048);
  EXPECT_EQ(lines[0].stats.min_integer, -7);
  EXPECT_EQ(static_cast<uint64_t>(lines[1].stats.max_integer), 18446700000000000000U);
  EXPECT_EQ(lines[2].stats.max_integer, std::numeric_limits<int64_t>::max());
}

TEST(StatisticTable, NullIsNotMeasuredAndNanIs) {
  const auto lines =
      read(concat("IO,Slot,Timestamp,Op Name,Op Type,Avg Value,Max Value,Max Value,Min Value,NaN Count,Other\n",
                  "output,0,1,Default/X-op0,X,-nan,null,null,nan,3,anything\n", "output,0,2,Default/X-op0,X,-0,inf,inf,-inf,null,\n",
                  "output,0,3,Default/X-op0,X,True,1e+06,1e+06,False,,\n"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(std::isnan(lines[0].stats.mean));
  EXPECT_EQ(lines[0].stats.valid, uint32_t{kStatMean | kStatMin | kStatNan});
  EXPECT_EQ(lines[0].stats.nan, 3U);
  EXPECT_TRUE(std::signbit(lines[1].stats.mean));
  EXPECT_EQ(lines[1].stats.max, INFINITY);
  EXPECT_EQ(lines[1].stats.min, -INFINITY);
  EXPECT_EQ(lines[2].stats.max, 1e6);
  EXPECT_EQ(lines[2].stats.mean, 1);
  EXPECT_EQ(lines[2].stats.min, 0);
}

TEST(StatisticTable, BadRowsAreSaidWithTheirLineAndTheRestIsRead) {
  std::vector<std::string> said;
  const auto lines =
      read(concat(kHeader, ",Max Value\nAdd,a,0,0,x,input,0,24,float32,\"[2,3]\",6,\nAdd,a,0,0,1,sideways,0,24,float32,\"[2,3]\",6,\n",
                  "Add,a,0,0,1,input,70000,24,float32,\"[2,3]\",6,\nAdd,a,0,0,1,input,0,24,float32,\"[2,3\",6,\n",
                  "Add,a,0,0,1,input,0,24,float32,\"[2,3]\",six,\nAdd,a,0,0,7,input,0,24,float32,\"[2,3]\",6,\nAdd,a,0,0,8,inp"),
           &said);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].time, 7U);
  EXPECT_THAT(said, ElementsAre(HasSubstr("statistic.csv:2: column \"Timestamp\": \"x\""), HasSubstr(":3: column \"IO\""),
                                HasSubstr(":4: column \"Slot\""), HasSubstr(":5: "), HasSubstr(":6: column \"Max Value\""),
                                HasSubstr(":8: 6 cells")));
}

TEST(StatisticTable, AMissingColumnIsSaid) {
  std::vector<std::string> said;
  EXPECT_THAT(read("Op Type,Op Name,IO,Slot\nAdd,a,input,0\n", &said), IsEmpty());
  EXPECT_THAT(said, ElementsAre(HasSubstr("\"Timestamp\" is missing")));
  EXPECT_THAT(read("", &said), IsEmpty());
  EXPECT_THAT(said, ElementsAre(HasSubstr("is empty")));
}

// Every row that the real writers of two versions made of 180 tensors.
TEST(StatisticTable, ReadsEveryRecordedRow) {
  const auto text = read_file(concat(TENSORTAP_TESTDATA, "/golden/mindspore/statistic/rows.jsonl"));
  ASSERT_TRUE(text.ok());
  size_t rows = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    const Json golden = Json::parse(line);
    for (const std::string version : {"", "_2.7.0"}) {
      if (!golden.contains("header" + version) || !golden.contains("row" + version)) continue;
      const std::string row = golden["row" + version].get<std::string>();
      const auto lines = read(concat(golden["header" + version].get<std::string>(), "\n", row, "\n"));
      ASSERT_EQ(lines.size(), 1U) << row;
      EXPECT_EQ(lines[0].op_name, golden["name"].get<std::string>());
      if (row.find("int4") != std::string::npos) continue;  // says the unpacked shape and the packed size, or nothing of either
      std::vector<int64_t> shape = golden["shape"];
      EXPECT_EQ(lines[0].desc.shape, Shape(shape)) << row;
      EXPECT_EQ(dtype_name(lines[0].desc.dtype), golden["dtype"].get<std::string>());
      ++rows;
    }
  }
  RecordProperty("rows", static_cast<int>(rows));
  EXPECT_GT(rows, 100U);
}

RC_GTEST_PROP(StatisticTable, TakesAnyBytes, (std::vector<uint8_t> bytes)) {
  TreeProblems problems;
  std::string text = concat(kHeader, ",Max Value,MD5,Count\n", std::string(bytes.begin(), bytes.end()));
  (void)read_statistic_table(text, "statistic.csv", problems);
  (void)read_statistic_table(std::string_view(text).substr(text.find('\n')), "statistic.csv", problems);
}

}  // namespace
}  // namespace tensortap::mindspore
