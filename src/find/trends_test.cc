#include "find/trends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/json.h"
#include "find/find_report.h"
#include "find/trends_json.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::IsEmpty;

// Ops of any type, with series of records that a test makes.
struct SeriesDump : VectorDumpIndex {
  OpId op(std::string name, std::string type = "Mul") {
    OpInfo info;
    info.name = std::move(name);
    info.type = std::move(type);
    return add_op(std::move(info));
  }
  static RecordRow record(OpId id, int64_t step, double absmax) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.set_desc({DType::kFloat16, {4, 4}});
    row.stats.valid = kStatFull;
    row.stats.count = 16;
    row.stats.absmax = absmax;
    row.stats.max = absmax;
    row.stats.min = -absmax / 2;
    row.stats.mean = absmax / 8;
    row.stats.l2 = absmax;
    return row;
  }
  // One record of op `id` in each step of [begin, end).
  void add_steps(OpId id, int64_t begin, int64_t end, const std::function<double(int64_t)>& absmax,
                 const std::function<void(RecordRow&)>& change = {}) {
    for (int64_t step = begin; step < end; ++step) {
      RecordRow row = record(id, step, absmax(step));
      if (change) change(row);
      add(row);
    }
  }
};

double steady(int64_t step) { return 1 + 0.1 * static_cast<double>(step * 7 % 5); }

// B4
TEST(Trends, AnExponentialRiseHasItsExactSlopeItsBeginningAndItsEnd) {
  SeriesDump dump;
  dump.add_steps(dump.op("grow"), 0, 61, [](int64_t step) { return step < 41 ? 1.0 : std::exp2(static_cast<double>(step - 41) / 3); });
  dump.add_steps(dump.op("steady"), 0, 61, steady);
  const TrendReport report = find_trends(dump);
  EXPECT_EQ(report.steps, 61U);
  EXPECT_EQ(report.series, 2U);
  EXPECT_EQ(report.judged, 2U);
  ASSERT_EQ(report.trends.size(), 1U);
  const Trend& trend = report.trends[0];
  EXPECT_EQ(trend.kind, TrendKind::kExploding);
  EXPECT_NEAR(trend.slope, 1.0 / 3, 1e-12);
  EXPECT_NEAR(static_cast<double>(trend.since), 41, 1);
  EXPECT_EQ(trend.step, 60);
  EXPECT_DOUBLE_EQ(trend.to, std::exp2(19.0 / 3));
  ASSERT_TRUE(trend.steps_to_limit);
  EXPECT_NEAR(*trend.steps_to_limit, (std::log2(65504.0) - 19.0 / 3) * 3, 1e-9) << "the largest float16";
}

TEST(Trends, StepsMayBeMissing) {
  SeriesDump dump;
  const OpId grow = dump.op("grow");
  for (const int64_t step : {0, 1, 2, 5, 6, 20, 21, 30, 41}) dump.add(SeriesDump::record(grow, step, std::exp2(0.25 * double(step))));
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_NEAR(report.trends[0].slope, 0.25, 1e-12);
}

TEST(Trends, LessThanEightStepsAndSlowOrSmallRisesAreNone) {
  for (const auto& [steps, slope] : {std::pair{7, 1.0}, {60, 0.09}, {12, 0.2}}) {
    SeriesDump dump;
    dump.add_steps(dump.op("grow"), 0, steps, [slope = slope](int64_t step) { return std::exp2(slope * double(step)); });
    EXPECT_THAT(find_trends(dump).trends, IsEmpty()) << steps << " steps of " << slope;
  }
}

TEST(Trends, ValuesThatAreNotFiniteAreLeftOut) {
  SeriesDump dump;
  dump.add_steps(
      dump.op("grow"), 0, 20, [](int64_t step) { return step >= 18 ? INFINITY : std::exp2(0.5 * double(step)); },
      [](RecordRow& row) {
        row.stats.pos_inf = row.step >= 18 ? 1 : 0;
        row.stats.nan = row.step == 7 ? 3 : 0;
        if (row.step == 7) row.stats.absmax = row.stats.l2 = NAN;
      });
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_NEAR(report.trends[0].slope, 0.5, 1e-12);
  EXPECT_EQ(report.trends[0].step, 17);
}

TEST(Trends, AFewStatisticsAreEnough) {
  const auto grow = [](int64_t step) { return std::exp2(0.5 * static_cast<double>(step)); };
  for (const uint32_t valid : {uint32_t{kStatL2}, uint32_t{kStatAbsMax}, uint32_t{kStatMin | kStatMax}, uint32_t{kStatMinimal}}) {
    SeriesDump dump;
    dump.add_steps(dump.op("grow"), 0, 20, grow, [valid](RecordRow& row) { row.stats.valid = valid; });
    ASSERT_EQ(find_trends(dump).trends.size(), 1U) << valid;
    EXPECT_NEAR(find_trends(dump).trends[0].slope, 0.5, 1e-12);
  }
  SeriesDump dump;
  dump.add_steps(dump.op("grow"), 0, 20, grow, [](RecordRow& row) { row.stats.valid = kStatMean | kStatZero; });
  EXPECT_THAT(find_trends(dump).trends, IsEmpty());
}

TEST(Trends, CallsOfAStepCountTogetherAndRanksApart) {
  SeriesDump dump;
  const OpId cell = dump.op("cell");
  for (int64_t step = 0; step < 16; ++step) {
    for (uint32_t call = 0; call < 5; ++call) {
      for (int32_t rank = 0; rank < 2; ++rank) {
        RecordRow row = SeriesDump::record(cell, step, rank == 1 && call == 3 ? std::exp2(double(step)) : 0.5);
        row.call = call;
        row.rank = rank;
        dump.add(row);
      }
    }
  }
  const TrendReport report = find_trends(dump);
  EXPECT_EQ(report.series, 2U);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(dump.all_rows[report.trends[0].row].rank, 1);
  EXPECT_NEAR(report.trends[0].slope, 1, 1e-12);
}

TEST(Trends, OnlyTheLastStepsWhereAsked) {
  SeriesDump dump;
  dump.add_steps(dump.op("grown"), 0, 60, [](int64_t step) { return std::exp2(0.5 * static_cast<double>(std::min<int64_t>(step, 40))); });
  dump.add_steps(dump.op("grow"), 0, 60, [](int64_t step) { return std::exp2(std::max(0.0, 0.5 * static_cast<double>(step - 44))); });
  const TrendReport report = find_trends(dump, 16);
  EXPECT_EQ(report.steps, 16U);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(op_of(dump, dump.all_rows[report.trends[0].row]).name, "grow");
  EXPECT_EQ(report.trends[0].since, 44);
}

TEST(Trends, AGradientThatShrinksVanishes) {
  SeriesDump dump;
  const auto shrink = [](int64_t step) { return std::exp2(-0.5 * static_cast<double>(step)); };
  dump.add_steps(dump.op("forward"), 0, 20, shrink);
  dump.add_steps(dump.op("backward"), 0, 20, shrink, [](RecordRow& row) { row.phase = static_cast<uint8_t>(Phase::kBackward); });
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U) << "what shrinks in the forward pass is no trouble";
  EXPECT_EQ(report.trends[0].kind, TrendKind::kVanishing);
  EXPECT_NEAR(report.trends[0].slope, -0.5, 1e-12);
  EXPECT_FALSE(report.trends[0].steps_to_limit);
}

TEST(Trends, WhatIsZeroAtLastIsDead) {
  SeriesDump dump;
  const auto zeros = [](uint64_t from_step) {
    return [from_step](RecordRow& row) { row.stats.zero = static_cast<uint64_t>(row.step) >= from_step ? 16 : 3; };
  };
  dump.add_steps(dump.op("died", "Relu"), 0, 20, steady, zeros(11));
  dump.add_steps(dump.op("late", "Relu"), 0, 20, steady, zeros(13));
  dump.add_steps(dump.op("never alive", "Relu"), 0, 20, steady, zeros(0));
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(report.trends[0].kind, TrendKind::kDead);
  EXPECT_EQ(op_of(dump, dump.all_rows[report.trends[0].row]).name, "died");
  EXPECT_EQ(report.trends[0].since, 11);
  EXPECT_EQ(report.trends[0].from, 3.0 / 16);
  EXPECT_EQ(report.trends[0].to, 1);
}

TEST(Trends, WhatStopsIsFrozenAndConstantsAreNot) {
  SeriesDump dump;
  const auto stops_at = [](int64_t at) { return [at](int64_t step) { return steady(std::min(step, at)); }; };
  dump.add_steps(dump.op("stopped"), 0, 20, stops_at(9));
  dump.add_steps(dump.op("constant"), 0, 20, stops_at(0));
  dump.add_steps(
      dump.op("digest"), 0, 20, [](int64_t) { return 2.0; },
      [](RecordRow& row) {
        row.digest_kind = 1;
        row.digest[5] = static_cast<uint8_t>(std::min<int64_t>(row.step, 8));
      });
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 2U);
  EXPECT_EQ(report.trends[0].kind, TrendKind::kFrozen);
  EXPECT_EQ(report.trends[0].since, 8) << "by its digest, whatever the statistics say";
  EXPECT_EQ(report.trends[1].since, 9);
}

TEST(Trends, WhatIsNaNFromAStepOnIsNotFrozen) {
  SeriesDump dump;
  dump.add_steps(dump.op("broken"), 0, 20, steady, [](RecordRow& row) {
    if (row.step < 9) return;
    row.stats.valid |= kStatNan;
    row.stats.nan = row.numel;
    row.stats.min = row.stats.max = row.stats.mean = row.stats.l2 = row.stats.absmax = std::nan("");
  });
  dump.add_steps(dump.op("whole"), 0, 20, steady);
  const TrendReport report = find_trends(dump);
  EXPECT_TRUE(report.trends.empty()) << "find says where NaN began";
  EXPECT_EQ(report.nonfinite, 1U);
  EXPECT_EQ(trends_json(dump, report, 2)["nonfinite"], 1);
}

TEST(Trends, AMaskEndsWithInfinitiesThatDoNoHarm) {
  SeriesDump dump;
  const auto infinite = [](RecordRow& row) { row.stats.neg_inf = 4; };
  OpInfo fill;
  fill.name = "mask";
  fill.type = "aten::masked_fill";
  fill.attributes = R"({"intended_inf": true})";
  dump.add_steps(dump.add_op(std::move(fill)), 0, 20, steady, infinite);
  EXPECT_EQ(trends_json(dump, find_trends(dump), 2)["harmless"], 1);
  dump.add_steps(dump.op("divide", "Div"), 0, 20, steady, infinite);
  const TrendReport report = find_trends(dump);
  EXPECT_EQ(report.nonfinite, 2U);
  EXPECT_EQ(report.harmless, 1U) << "find says that the infinities of the division are the first";
  EXPECT_EQ(find_report(dump, 10)["first_nonfinite"]["op"], "divide");
}

TEST(Trends, AParameterThatTrainingNeverChangesIsFrozen) {
  for (const bool trains : {false, true}) {
    SeriesDump dump;
    dump.add_steps(dump.op("fc.weight", std::string(kInitializerType)), 0, 10, [](int64_t) { return 1.0; });
    dump.add_steps(dump.op("adam"), 0, 10, steady,
                   [trains](RecordRow& row) { row.phase = static_cast<uint8_t>(trains ? Phase::kUpdate : Phase::kForward); });
    const TrendReport report = find_trends(dump);
    ASSERT_EQ(report.trends.size(), trains ? 1U : 0U);
    for (const Trend& trend : report.trends) EXPECT_EQ(trend.kind, TrendKind::kFrozen);
  }
}

TEST(Trends, AStepUnlikeItsNeighboursIsASpike) {
  SeriesDump dump;
  dump.add_steps(dump.op("leaps"), 0, 30, [](int64_t step) { return step == 17 ? 64.0 : steady(step); });
  dump.add_steps(dump.op("easy"), 0, 30, [](int64_t step) { return step == 17 ? 1.0 / 64 : steady(step); });
  dump.add_steps(dump.op("settles"), 0, 30, [](int64_t step) { return step == 0 ? 64.0 : steady(step); });
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(report.trends[0].kind, TrendKind::kSpike);
  EXPECT_EQ(report.trends[0].step, 17);
  EXPECT_EQ(report.trends[0].to, 64);
}

TEST(Trends, AreInTheOrderOfKindAndEvidence) {
  SeriesDump dump;
  for (const double slope : {0.3, 0.9, 0.5}) {
    dump.add_steps(dump.op(to_json_text(Json(slope))), 0, 16, [slope](int64_t step) { return std::exp2(slope * double(step)); });
  }
  dump.add_steps(dump.op("leaps"), 0, 30, [](int64_t step) { return step == 12 ? 1e9 : steady(step); });
  const Json json = trends_json(dump, find_trends(dump), 2);
  EXPECT_EQ(json["counts"]["exploding"], 3);
  ASSERT_EQ(json["trends"].size(), 3U) << "two of each kind";
  EXPECT_EQ(json["trends"][0]["op"], "0.9");
  EXPECT_EQ(json["trends"][1]["op"], "0.5");
  EXPECT_EQ(json["trends"][2]["kind"], "spike");
  EXPECT_DOUBLE_EQ(json["trends"][1]["doubling"].get<double>(), 2);
}

// A million records of 2,000 series in 500 steps, one of which grows.
TEST(Trends, OfAMillionRecords) {
  SeriesDump dump;
  for (int id = 0; id < 2000; ++id) dump.op("op" + std::to_string(id));
  dump.all_rows.reserve(1000000);
  for (int64_t step = 0; step < 500; ++step) {
    for (OpId id = 0; id < 2000; ++id) {
      const double value =
          id == 1234 ? std::exp2(0.125 * static_cast<double>(step)) : 1 + 0.01 * static_cast<double>((step * 131 + id) % 17);
      dump.add(SeriesDump::record(id, step, value));
    }
  }
  const TrendReport report = find_trends(dump);
  EXPECT_EQ(report.judged, 2000U);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_NEAR(report.trends[0].slope, 0.125, 1e-12);
}

// B4: an op divides by what becomes small, until it is too small; from step 10 on what it makes grows as well, if it `grows`.
struct LeadDump : SeriesDump {
  explicit LeadDump(bool grows) {
    OpInfo square;
    square.name = "square";
    square.type = "Mul";
    square.outputs = {"s"};
    OpInfo divide;
    divide.name = "divide";
    divide.type = "Div";
    divide.inputs = {{"s", 0, 0}};
    divide.outputs = {"d"};
    add_op(square);
    add_op(divide);
    for (int64_t step = 0; step < 20; ++step) {
      add(record(0, step, std::exp2(-static_cast<double>(step))));
      const double own = grows && step >= 10 ? std::exp2(static_cast<double>(step - 10) / 2) : 1;
      RecordRow made = record(1, step, step == 19 ? INFINITY : own);
      made.stats.pos_inf = step == 19 ? 2 : 0;
      add(made);
    }
  }
};

TEST(Lead, IsTheTrendThatTheFirstNonFiniteValueEnded) {
  const Json report = find_report(LeadDump(true), 10);
  EXPECT_EQ(report["first_nonfinite"]["op"], "divide");
  ASSERT_TRUE(report["lead"].is_object()) << report["lead"];
  EXPECT_EQ(report["lead"]["record"], "divide:out0@18");
  EXPECT_NEAR(report["lead"]["slope"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(report["lead"]["doubling"].get<double>(), 2, 1e-12);
}

TEST(Lead, IsElseThatOfWhatTheOpRead) {
  const Json report = find_report(LeadDump(false), 10);
  ASSERT_TRUE(report["lead"].is_object()) << report["lead"];
  EXPECT_EQ(report["lead"]["record"], "square:out0@19") << "what it read in its own step, too";
  EXPECT_NEAR(report["lead"]["slope"].get<double>(), -1, 1e-12);
  EXPECT_EQ(report["lead"]["since"], 0);
}

TEST(Lead, IsNullWithoutATrend) {
  SeriesDump dump;
  dump.add_steps(dump.op("op"), 0, 20, steady, [](RecordRow& row) { row.stats.nan = row.step == 19 ? 1 : 0; });
  const Json report = find_report(dump, 10);
  EXPECT_TRUE(report["first_nonfinite"].is_object());
  EXPECT_TRUE(report["lead"].is_null());
}

}  // namespace
}  // namespace tensortap
