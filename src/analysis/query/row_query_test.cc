#include "query/row_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/query_dump.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<uint32_t> rows_of(const RowQuery& query) {
  const auto rows = select_rows(QueryDump(), query);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return rows.ok() ? *rows : std::vector<uint32_t>();
}

std::string refusal(const RowQuery& query) {
  const auto rows = select_rows(QueryDump(), query);
  EXPECT_EQ(rows.status().code(), StatusCode::kInvalidArgument);
  return rows.status().message();
}

TEST(RowQuery, WithoutConditionsChoosesEverything) { EXPECT_THAT(rows_of({}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)); }

TEST(RowQuery, EachConditionNarrows) {
  EXPECT_THAT(rows_of({.op = "gemm"}), ElementsAre(7));
  EXPECT_THAT(rows_of({.op = "con.$"}), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(rows_of({.type = "Gemm,Relu"}), ElementsAre(7));
  EXPECT_THAT(rows_of({.step = "0,2"}), ElementsAre(0, 1, 4, 5, 6, 7));
  EXPECT_THAT(rows_of({.slot = "in"}), ElementsAre(0, 2, 4));
  EXPECT_THAT(rows_of({.slot = "out1"}), IsEmpty());
  EXPECT_THAT(rows_of({.where = "max > 2"}), ElementsAre(1, 4, 5, 7));
  EXPECT_THAT(rows_of({.op = "conv", .step = "1-2", .slot = "out0", .where = "max > 2"}), ElementsAre(5));
}

TEST(RowQuery, AModuleIsChosenWithWhatLiesInIt) {
  QueryDump dump;
  dump.all_ops[0].module = "net.layers.3.mlp";
  dump.all_ops[1].module = "net.layers.31";
  const auto chosen = [&](const char* module) { return select_rows(dump, {.module = module, .slot = "out0"})->size(); };
  EXPECT_EQ(chosen("net.layers.3"), 4U);
  EXPECT_EQ(chosen("net.layers.3.*"), 4U);
  EXPECT_EQ(chosen("net.layers.?"), 4U);
  EXPECT_EQ(chosen("net.*.31"), 1U);
  EXPECT_EQ(chosen("*"), 5U);
  EXPECT_EQ(chosen("net.layers.31, *.mlp"), 5U);
  EXPECT_EQ(chosen("layers.3"), 4U);
  EXPECT_EQ(chosen("net.layers.3."), 0U);
}

TEST(RowQuery, TheLastStepsAreThoseOfTheChosenOnes) {
  EXPECT_THAT(rows_of({.last = 1}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(rows_of({.last = 2}), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(rows_of({.step = "0-1", .last = 1}), ElementsAre(2, 3));
  EXPECT_THAT(rows_of({.op = "gemm", .last = 9}), ElementsAre(7));
}

TEST(RowQuery, NamesThatNoOpHasAreToldWithTheNearest) {
  const QueryDump dump;
  const DumpIndex* const dumps[] = {&dump};
  EXPECT_THAT(unmatched_names(dumps, {.op = "gemn"}), ElementsAre("no op is, or matches, \"gemn\". Did you mean \"gemm\"?"));
  EXPECT_THAT(unmatched_names(dumps, {.op = "comv"}), ElementsAre("no op is, or matches, \"comv\". Did you mean \"conv\"?"));
  EXPECT_THAT(unmatched_names(dumps, {.type = "Conv,Gem"}), ElementsAre("no op has the type \"Gem\". Did you mean \"Gemm\"?"));
  EXPECT_THAT(unmatched_names(dumps, {.module = "net"}), ElementsAre("the dump names no modules"));
  EXPECT_THAT(unmatched_names(dumps, {.op = "gemm", .type = "Conv"}),
              ElementsAre("each of these options chooses records, but no record meets all"));
}

TEST(RowQuery, AnOpsOwnNameNeedNotBeARegularExpressionThatMatchesIt) {
  QueryDump dump;
  dump.all_ops[1].name = "gemm[0]";
  EXPECT_THAT(*select_rows(dump, {.op = "gemm[0]"}), ElementsAre(7));
}

// Rows without a value, or with NaN, come last in either order.
TEST(RowQuery, SortsAndKeepsTheOrderOfEqualOnes) {
  EXPECT_THAT(rows_of({.sort = "max"}), ElementsAre(0, 2, 4, 1, 7, 5, 3, 6));
  EXPECT_THAT(rows_of({.sort = "-max"}), ElementsAre(5, 7, 1, 4, 2, 0, 3, 6));
  EXPECT_THAT(rows_of({.sort = "-type"}), ElementsAre(7, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(rows_of({.sort = "slot"}), ElementsAre(0, 2, 4, 1, 3, 5, 6, 7));
}

TEST(RowQuery, OffsetAndLimitCutWhatWasSorted) {
  EXPECT_THAT(rows_of({.limit = 2}), ElementsAre(0, 1));
  EXPECT_THAT(rows_of({.offset = 6}), ElementsAre(6, 7));
  EXPECT_THAT(rows_of({.offset = 1, .limit = 2}), ElementsAre(1, 2));
  EXPECT_THAT(rows_of({.sort = "-max", .offset = 1, .limit = 2}), ElementsAre(7, 1));
  EXPECT_THAT(rows_of({.offset = 100, .limit = 2}), IsEmpty());
  EXPECT_THAT(rows_of({.offset = 7, .limit = SIZE_MAX}), ElementsAre(7));
}

TEST(RowQuery, ErrorsBeginWithTheMembersName) {
  EXPECT_THAT(refusal({.op = "("}), StartsWith("op \"(\": not a regular expression"));
  EXPECT_THAT(refusal({.step = "one"}), StartsWith("step: "));
  EXPECT_THAT(refusal({.slot = "output"}), StartsWith("slot output: "));
  EXPECT_THAT(refusal({.where = "nann > 0"}), StartsWith("where: "));
  EXPECT_THAT(refusal({.sort = "-maxx"}), StartsWith("sort \"-maxx\": no such column. Did you mean \"max\""));
  EXPECT_THAT(refusal({.sort = "hash"}), HasSubstr("The columns are op, type, slot, dtype, step, call, "));
}

TEST(Series, HoldsOneTensorOverStepsAndCalls) {
  QueryDump dump;
  dump.all_rows[4].step = 0;
  dump.all_rows[4].call = 1;
  const std::vector<uint32_t> rows = {7, 6, 5, 4, 3, 2, 1, 0};
  const std::vector<Series> series = series_of(dump, rows);
  ASSERT_EQ(series.size(), 4U);
  EXPECT_THAT(series[0].rows, ElementsAre(7));
  EXPECT_EQ(series[1].element, 2);
  EXPECT_THAT(series[1].rows, ElementsAre(6));
  EXPECT_THAT(series[2].rows, ElementsAre(1, 3, 5));
  EXPECT_EQ(series[3].slot_kind, SlotKind::kInput);
  EXPECT_THAT(series[3].rows, ElementsAre(0, 4, 2));
}

TEST(Series, PhasesAndRanksAreApart) {
  QueryDump dump;
  dump.all_rows[1].phase = 2;
  dump.all_rows[3].rank = 1;
  const std::vector<uint32_t> rows = {1, 3, 5};
  EXPECT_EQ(series_of(dump, rows).size(), 3U);
}

}  // namespace
}  // namespace tensortap
