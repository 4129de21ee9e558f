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
  dump.add_steps(dump.op("grow"), 0, 71, [](int64_t step) { return step < 41 ? 1.0 : std::exp2(static_cast<double>(step - 41) / 3); });
  dump.add_steps(dump.op("steady"), 0, 71, steady);
  const TrendReport report = find_trends(dump);
  EXPECT_EQ(report.steps, 71U);
  EXPECT_EQ(report.series, 2U);
  EXPECT_EQ(report.judged, 2U);
  ASSERT_EQ(report.trends.size(), 1U);
  const Trend& trend = report.trends[0];
  EXPECT_EQ(trend.kind, TrendKind::kExploding);
  EXPECT_NEAR(trend.slope, 1.0 / 3, 1e-12);
  EXPECT_NEAR(static_cast<double>(trend.since), 41, 1);
  EXPECT_EQ(trend.step, 70);
  EXPECT_DOUBLE_EQ(trend.to, std::exp2(29.0 / 3));
  ASSERT_TRUE(trend.steps_to_limit);
  EXPECT_NEAR(*trend.steps_to_limit, (std::log2(65504.0) - 29.0 / 3) * 3, 1e-9) << "the largest float16";
}

TEST(Trends, StepsMayBeMissing) {
  SeriesDump dump;
  const OpId grow = dump.op("grow");
  for (const int64_t step : {0, 1, 2, 5, 6, 20, 21, 30, 41}) dump.add(SeriesDump::record(grow, step, std::exp2(0.3 * double(step))));
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_NEAR(report.trends[0].slope, 0.3, 1e-12);
}

TEST(Trends, FewStepsAndSlowOrSmallRisesAreNone) {
  for (const auto& [steps, slope] : {std::pair{4, 1.0}, {7, 0.9}, {60, 0.09}, {12, 0.2}, {40, 0.15}, {18, 0.25}}) {
    SeriesDump dump;
    dump.add_steps(dump.op("grow"), 0, steps, [slope = slope](int64_t step) { return std::exp2(slope * double(step)); });
    EXPECT_THAT(find_trends(dump).trends, IsEmpty()) << steps << " steps of " << slope;
  }
}

TEST(Trends, WhatTheLimitIsNearForNeedsLessOfARise) {
  for (const double last : {15.5, 8.0}) {
    SeriesDump dump;
    dump.add_steps(dump.op("grow"), 0, 20, [last](int64_t step) { return std::exp2(last - 0.25 * static_cast<double>(19 - step)); });
    EXPECT_EQ(find_trends(dump).trends.size(), last > 15 ? 1U : 0U) << "the largest float16 is below 2^16";
  }
}

TEST(Trends, WhatSlowsDownIsNoExplosion) {
  for (const double power : {1.0, 2.0, 3.0}) {
    for (const int64_t steps : {6, 12, 20, 40, 100}) {
      SeriesDump dump;
      dump.add_steps(dump.op("from zero"), 0, steps, [power](int64_t step) { return 1e-4 * std::pow(double(step + 1), power); });
      EXPECT_THAT(find_trends(dump).trends, IsEmpty()) << steps << " steps of the power " << power;
    }
  }
}

TEST(Trends, AnExplosionIsSeenWithinFourSteps) {
  const std::vector<std::pair<std::vector<double>, bool>> endings = {
      {{2, 4, 8, 16}, true},      {{3, 20, 2000}, true},     {{2, 4, 8}, false},    {{40}, false},
      {{9, 900, INFINITY}, true}, {{2, 5, INFINITY}, false}, {{8, 2, 8, 60}, false}};
  for (const auto& [ending, seen] : endings) {
    for (const int64_t before : {1, 12}) {
      SeriesDump dump;
      const auto absmax = [&, end = ending](int64_t step) { return step < before ? 1 : end[static_cast<size_t>(step - before)]; };
      dump.add_steps(dump.op("grow"), 0, before + static_cast<int64_t>(ending.size()), absmax,
                     [](RecordRow& row) { row.stats.pos_inf = std::isinf(row.stats.absmax) ? 1 : 0; });
      const TrendReport report = find_trends(dump);
      ASSERT_EQ(std::ranges::count(report.trends, TrendKind::kExploding, &Trend::kind), seen ? 1 : 0) << before << " before " << ending[0];
      if (seen) {
        EXPECT_EQ(report.trends[0].since, before - 1);
      }
    }
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
  dump.add_steps(dump.op("grown"), 0, 60, [](int64_t step) { return std::exp2(0.5 * static_cast<double>(std::min<int64_t>(step, 12))); });
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
  dump.add_steps(dump.op("forward"), 0, 30, shrink);
  const auto backward = [](RecordRow& row) { row.phase = static_cast<uint8_t>(Phase::kBackward); };
  for (const char* other : {"loss", "last layer"}) dump.add_steps(dump.op(other), 0, 30, steady, backward);
  dump.add_steps(dump.op("backward"), 0, 30, shrink, backward);
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U) << "a value that shrinks in the forward pass is no problem";
  EXPECT_EQ(report.trends[0].kind, TrendKind::kVanishing);
  EXPECT_NEAR(report.trends[0].slope, -0.5, 1e-12);
  EXPECT_FALSE(report.trends[0].steps_to_limit);
}

TEST(Trends, GradientsThatAllShrinkConverge) {
  SeriesDump dump;
  for (const double pace : {0.4, 0.45, 0.5, 0.55}) {
    dump.add_steps(
        dump.op(to_json_text(Json(pace))), 0, 40, [pace](int64_t step) { return std::exp2(-pace * static_cast<double>(step)); },
        [](RecordRow& row) { row.phase = static_cast<uint8_t>(Phase::kBackward); });
  }
  EXPECT_THAT(find_trends(dump).trends, IsEmpty());
}

TEST(Trends, AValueThatBecomesAllZerosIsDeadAfterFourSteps) {
  for (const bool backward : {false, true}) {
    SeriesDump dump;
    dump.add_steps(dump.op("relu", "Relu"), 0, 20, steady, [backward](RecordRow& row) {
      row.stats.zero = row.step < 16 ? 8 : 16;
      if (backward) row.phase = static_cast<uint8_t>(Phase::kBackward);
    });
    EXPECT_EQ(find_trends(dump).trends.size(), backward ? 0U : 1U) << "a loss with a margin has no gradient for some steps";
  }
}

TEST(Trends, WhatIsZeroAtLastIsDead) {
  SeriesDump dump;
  const auto zeros = [](uint64_t from_step) {
    return [from_step](RecordRow& row) { row.stats.zero = static_cast<uint64_t>(row.step) >= from_step ? 16 : 3; };
  };
  dump.add_steps(dump.op("died", "Relu"), 0, 20, steady, zeros(11));
  dump.add_steps(dump.op("late", "Relu"), 0, 20, steady, zeros(17));
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

TEST(Trends, AWeightThatNoOptimizerReadsAndNoGradientIsMadeForIsMeantToStay) {
  enum class Case : uint8_t { kTuned, kInOptimizer, kHasGradient };
  for (const Case one : {Case::kTuned, Case::kInOptimizer, Case::kHasGradient}) {
    SeriesDump dump;
    OpInfo info;
    info.name = "linear";
    info.type = "addmm";
    info.attributes = R"({"parameters": [0]})";
    const auto weight = [](RecordRow& row) {
      row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
      row.storage = 7;
      row.value_flags = kValueRoleKnown | kValueParameter;
    };
    dump.add_steps(
        dump.add_op(std::move(info)), 0, 10, [](int64_t) { return 1.0; }, weight);
    dump.add_steps(dump.op("made"), 0, 10, steady);
    dump.add_steps(dump.op("adam"), 0, 10, steady, [one](RecordRow& row) {
      row.phase = static_cast<uint8_t>(Phase::kUpdate);
      row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
      row.storage = one == Case::kInOptimizer ? 7 : 8;
    });
    if (one == Case::kHasGradient) dump.add_steps(dump.op("AccumulateGrad/detach"), 0, 10, steady);
    EXPECT_EQ(find_trends(dump).trends.size(), one == Case::kTuned ? 0U : 1U) << static_cast<int>(one);
  }
}

TEST(Trends, AParameterThatNeedsNoGradientFromAStepOnIsFrozen) {
  SeriesDump dump;
  const OpId op = dump.op("t");
  const auto parameter = [](RecordRow& row) {
    row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
    row.storage = 7;
    row.value_flags = kValueRoleKnown | (row.step < 10 ? kValueParameter : 0);
  };
  dump.add_steps(
      op, 0, 30, [](int64_t step) { return 1.0 + 0.01 * static_cast<double>(std::min<int64_t>(step, 11)); }, parameter);
  dump.add_steps(dump.op("made"), 0, 30, steady);
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(report.trends[0].kind, TrendKind::kFrozen);
  EXPECT_EQ(dump.rows()[report.trends[0].row].op, op);
}

TEST(Trends, AStepUnlikeItsNeighboursIsASpike) {
  SeriesDump dump;
  dump.add_steps(dump.op("leaps"), 0, 30, [](int64_t step) { return step == 17 ? 64.0 : steady(step); });
  dump.add_steps(dump.op("easy"), 0, 30, [](int64_t step) { return step == 17 ? 1.0 / 64 : steady(step); });
  dump.add_steps(dump.op("begins to learn"), 0, 12, [](int64_t step) { return step < 8 ? 1.0 : std::exp2(double(step - 7) * 0.8); });
  dump.add_steps(dump.op("settles"), 0, 30, [](int64_t step) { return step == 0 ? 64.0 : steady(step); });
  const TrendReport report = find_trends(dump);
  ASSERT_EQ(report.trends.size(), 1U);
  EXPECT_EQ(report.trends[0].kind, TrendKind::kSpike);
  EXPECT_EQ(report.trends[0].step, 17);
  EXPECT_EQ(report.trends[0].to, 64);
}

// The memory of a buffer holds whatever was there before it is filled; a view of it is no value that an op made.
TEST(Trends, WhatOnlyShowsOrAllocatesMemoryIsNotJudged) {
  const auto garbage = [](int64_t step) { return step == 17 ? 4096.0 : std::exp2(double(step)); };
  SeriesDump dump;
  dump.add_steps(dump.op("buffer", "empty_like"), 0, 30, garbage);
  dump.add_steps(dump.op("shown", "view"), 0, 30, garbage);
  const OpId sum = dump.op("sum", "add");
  dump.add_steps(sum, 0, 30, steady);
  EXPECT_EQ(find_trends(dump).judged, 1U);
  EXPECT_THAT(find_trends(dump).trends, IsEmpty());
}

TEST(Trends, AreInTheOrderOfKindAndEvidence) {
  SeriesDump dump;
  for (const double slope : {0.6, 0.9, 0.7}) {
    dump.add_steps(dump.op(to_json_text(Json(slope))), 0, 16, [slope](int64_t step) { return std::exp2(slope * double(step)); });
  }
  dump.add_steps(dump.op("leaps"), 0, 30, [](int64_t step) { return step == 12 ? 1e9 : steady(step); });
  const Json json = trends_json(dump, find_trends(dump), 2);
  EXPECT_EQ(json["counts"]["exploding"], 3);
  ASSERT_EQ(json["trends"].size(), 3U) << "two of each kind";
  EXPECT_EQ(json["trends"][0]["op"], "0.9");
  EXPECT_EQ(json["trends"][1]["op"], "0.7");
  EXPECT_EQ(json["trends"][2]["kind"], "spike");
  EXPECT_NEAR(json["trends"][1]["doubling"].get<double>(), 1 / 0.7, 1e-9);
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

// B4: an op divides by a value that shrinks until it is too small. With `grows`, the op's output also grows from step 10 on.
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
