#include "find/watchpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/json.h"
#include "find/trends.h"
#include "find/watch_json.h"
#include "stats/stats.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// relu, a weight and an op of the backward pass, with data and statistics.
struct WatchedDump : VectorDumpIndex {
  [[nodiscard]] std::string manifest() const override { return text; }
  std::string text = "{}";
  WatchedDump() {
    add_named("relu", "Relu");
    add_named("fc.weight", std::string(kInitializerType));
    add_named("Gradients/mul", "Mul");
  }
  void add_named(std::string name, std::string type) {
    OpInfo info;
    info.name = std::move(name);
    info.type = std::move(type);
    add_op(std::move(info));
  }
  size_t add_values(OpId id, int64_t step, const std::vector<float>& values, SlotKind kind = SlotKind::kOutput) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.set_desc({DType::kFloat32, {static_cast<int64_t>(values.size())}});
    const size_t at = add(row);
    set_data<float>(at, values);
    all_rows[at].stats = compute_stats(data(at)->view, {});
    return at;
  }
  // The row keeps these statistics and loses its data.
  void keep_only(size_t row, uint32_t stats) {
    all_rows[row].flags = 0;
    all_data.erase(row);
    all_rows[row].stats.valid &= stats;
  }
};

WatchAnswer ask(const DumpIndex& dump, const std::string& condition, size_t limit = 100) {
  const auto watchpoints = parse_watchpoints(std::vector<std::string>{condition});
  EXPECT_TRUE(watchpoints.ok()) << watchpoints.status().message();
  std::vector<uint32_t> rows(dump.rows().size());
  std::iota(rows.begin(), rows.end(), 0);
  return check_watchpoints(dump, *watchpoints, rows, limit).front();
}

std::vector<uint32_t> rows_of(const std::vector<WatchHit>& hits) {
  std::vector<uint32_t> rows;
  for (const WatchHit& hit : hits) rows.push_back(hit.row);
  return rows;
}

// M25
TEST(Watchpoints, LookAtTheirTarget) {
  WatchedDump dump;
  dump.add_values(0, 0, {1, 2});
  dump.add_values(0, 0, {1, 2}, SlotKind::kInput);
  dump.add_values(1, 0, {3, 4});
  dump.add_values(2, 0, {5, 6});
  dump.add_values(0, 0, {7, 8}, SlotKind::kGradient);
  dump.add_values(0, 0, {9, 9}, SlotKind::kWeight);
  EXPECT_THAT(rows_of(ask(dump, "tensor_too_large:max_gt=0").hits), ElementsAre(0, 2, 3, 4, 5)) << "an op's input belongs to its producer";
  EXPECT_THAT(rows_of(ask(dump, "weight_too_large:max_gt=0").hits), ElementsAre(2, 5));
  EXPECT_THAT(rows_of(ask(dump, "gradient_too_large:max_gt=0").hits), ElementsAre(3, 4));
  EXPECT_THAT(rows_of(ask(dump, "activation_range:max_min_lt=99").hits), ElementsAre(0));
}

TEST(Watchpoints, ParametersAreOredAndEachSaysWhatItSaw) {
  WatchedDump dump;
  dump.add_values(0, 0, {-1, 0, 4});
  const WatchAnswer answer = ask(dump, "tensor_too_large:abs_mean_gt=1,max_gt=9,min_gt=-5,mean_gt=1");
  ASSERT_EQ(answer.hits.size(), 1U);
  const auto& values = answer.hits[0].values;
  EXPECT_DOUBLE_EQ(*values[0].actual, 5.0 / 3);
  EXPECT_TRUE(values[0].hit);
  EXPECT_FALSE(values[1].hit);
  EXPECT_EQ(*values[1].actual, 4);
  EXPECT_TRUE(values[2].hit);
  EXPECT_FALSE(values[3].hit) << "1 is not above 1";
}

TEST(Watchpoints, NaNInfAndAMissingStepKeepThresholdsFromBeingLookedAt) {
  WatchedDump dump;
  dump.add_values(0, 0, {NAN, 99});
  dump.add_values(0, 1, {INFINITY, NAN});
  dump.add_values(0, 2, {-INFINITY, 1});
  dump.add_values(0, 3, {1, 2, 3});
  const WatchAnswer large = ask(dump, "tensor_too_large:max_gt=0");
  EXPECT_THAT(rows_of(large.hits), ElementsAre(3));
  ASSERT_EQ(large.errors.size(), 3U);
  EXPECT_EQ(large.errors[0].errors, kWatchNaN);
  EXPECT_EQ(large.errors[1].errors, kWatchNaN | kWatchInf);
  EXPECT_EQ(large.errors[2].errors, kWatchInf);
  EXPECT_FALSE(large.errors[0].values[0].actual);
  const WatchAnswer change = ask(dump, "tensor_change_too_large");
  ASSERT_EQ(change.errors.size(), 4U);
  EXPECT_EQ(change.errors[0].errors, kWatchNaN | kWatchNoPrevious);
  EXPECT_EQ(change.errors[1].errors, kWatchNaN | kWatchInf);
  EXPECT_EQ(change.errors[3].errors, kWatchNoPrevious) << "the step before had two elements";
  EXPECT_THAT(rows_of(ask(dump, "tensor_overflow").hits), ElementsAre(0, 1, 2));
}

TEST(Watchpoints, TheStepBeforeIsTheLastOneOfTheSameCall) {
  WatchedDump dump;
  dump.add_values(1, 0, {1, 1});
  dump.all_rows[dump.add_values(1, 0, {5, 5})].call = 1;
  dump.add_values(1, 3, {1, 1.5F});
  dump.all_rows[dump.add_values(1, 3, {5, 5})].call = 1;
  EXPECT_THAT(rows_of(ask(dump, "weight_not_changed").hits), ElementsAre(3));
  const WatchAnswer change = ask(dump, "weight_change_too_large:abs_mean_update_ratio_gt=0.2,epsilon=0");
  EXPECT_THAT(rows_of(change.hits), ElementsAre(2));
  EXPECT_DOUBLE_EQ(*change.hits[0].values[0].actual, 0.25);
  EXPECT_THAT(rows_of(ask(dump, "weight_change_too_small").hits), ElementsAre(3));
}

TEST(Watchpoints, WeightsAreInitializedInStep0) {
  WatchedDump dump;
  dump.add_values(0, 0, {0, 0});
  dump.add_values(1, 0, {0, 0});
  dump.add_values(1, 1, {0, 0});
  EXPECT_THAT(rows_of(ask(dump, "weight_initialization").hits), ElementsAre(1));
  EXPECT_THAT(rows_of(ask(dump, "tensor_initialization").hits), ElementsAre(0, 1));
}

TEST(Watchpoints, StatisticsAnswerWhatTheyCan) {
  WatchedDump dump;
  dump.keep_only(dump.add_values(0, 0, {1, 2, 6}), kStatMinimal);
  dump.keep_only(dump.add_values(0, 1, {-1, 2, 6}), kStatMinimal);
  dump.keep_only(dump.add_values(0, 2, {1, 2, 6}), kStatMax | kStatL2);
  const WatchAnswer mean = ask(dump, "tensor_too_large:abs_mean_gt=2");
  EXPECT_THAT(rows_of(mean.hits), ElementsAre(0)) << "of positive values the mean is that of magnitudes";
  EXPECT_EQ(mean.unknown, 2U);
  const WatchAnswer any = ask(dump, "tensor_too_large:abs_mean_gt=2,max_gt=5");
  EXPECT_THAT(rows_of(any.hits), ElementsAre(0, 1, 2)) << "one that is crossed is enough";
  EXPECT_THAT(rows_of(ask(dump, "tensor_range:range_start_inclusive=0,range_end_inclusive=9,range_percentage_gt=50").hits), ElementsAre(0));
  EXPECT_EQ(ask(dump, "tensor_not_changed").unknown, 2U);
  EXPECT_THAT(rows_of(ask(dump, "tensor_overflow").hits), IsEmpty());
}

TEST(Watchpoints, AnOpOverflowsThatMakesInfOfFiniteValues) {
  WatchedDump dump;
  dump.all_ops[0].inputs = {{"x", kNoOp, 0}};
  dump.add_values(0, 0, {1, 2}, SlotKind::kInput);
  dump.add_values(0, 0, {INFINITY, 2});
  dump.add_values(2, 0, {INFINITY, 2}, SlotKind::kInput);
  dump.all_ops[2].inputs = {{"y", kNoOp, 0}};
  dump.add_values(2, 0, {INFINITY, 2});
  dump.add_values(1, 0, {INFINITY, 2});
  EXPECT_THAT(rows_of(ask(dump, "operator_overflow").hits), ElementsAre(1)) << "the others were given it, or are a weight";
}

TEST(Watchpoints, TheListOfADumpSaysWhichOpsOverflowed) {
  WatchedDump dump;
  dump.add_values(0, 0, {INFINITY, 2});
  dump.add_values(2, 0, {65504, 2});
  dump.text = R"({"overflowed_ops": [{"op": "Gradients/mul", "step": 0, "call": 0, "rank": 0}]})";
  EXPECT_THAT(rows_of(ask(dump, "operator_overflow").hits), ElementsAre(1));
}

TEST(Watchpoints, ListsAreLimitedAndCountsAreNot) {
  WatchedDump dump;
  for (int step = 0; step < 20; ++step) dump.add_values(0, step, {step % 2 == 0 ? 1.0F : NAN});
  const WatchAnswer answer = ask(dump, "tensor_too_large:max_gt=0", 3);
  EXPECT_EQ(answer.checked, 20U);
  EXPECT_EQ(answer.hit_count, 10U);
  EXPECT_EQ(answer.error_count, 10U);
  EXPECT_THAT(rows_of(answer.hits), ElementsAre(0, 2, 4));
  EXPECT_EQ(answer.errors.size(), 3U);
}

// Rows of any bytes: nothing but an end is asked for.
TEST(Watchpoints, AndTrendsOfHostileRowsComeToAnEnd) {
  uint64_t state = 7;
  for (int round = 0; round < 300; ++round) {
    WatchedDump dump;
    for (int i = 0; i < 40; ++i) {
      RecordRow row;
      auto* bytes = reinterpret_cast<unsigned char*>(&row);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
      for (size_t k = 0; k < sizeof(RecordRow); ++k) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        bytes[k] = static_cast<unsigned char>(state >> 56);
      }
      row.op = static_cast<OpId>(i % 4);  // one more than there are ops
      if (round % 2 == 0) row.step = i;
      if (round % 3 == 0) row.dtype = static_cast<uint8_t>(DType::kFloat32);
      if (round % 5 == 0) row.rank = row.slot_kind = row.slot_index = row.phase = row.moment = 0, row.element = -1;
      dump.add(row);
    }
    EXPECT_TRUE(watch_json(dump, {{"recommended", "TL:abs_mean_gt=1", "TR:max_min_gt=1", "TCL"}}, 5).ok());
    EXPECT_LE(find_trends(dump).judged, 40U);
  }
}

TEST(WatchJson, SelectsOpsAndStepsAndNamesWhatIsWrong) {
  WatchedDump dump;
  dump.add_values(0, 0, {1});
  dump.add_values(0, 1, {1});
  dump.add_values(1, 1, {1});
  const auto found = watch_json(dump, {{"TL:max_gt=0", "TO"}, "relu", "1"}, 10);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)["hits"], 1);
  EXPECT_EQ((*found)["watchpoints"][0]["hits"][0]["record"], "relu:out0@1");
  EXPECT_EQ((*found)["watchpoints"][0]["hits"][0]["parameters"][0],
            Json::parse(R"({"name": "max_gt", "value": 0.0, "hit": true, "actual": 1.0})"));
  EXPECT_EQ((*found)["watchpoints"][1]["checked"], 1);
  EXPECT_EQ(watch_json(dump, {{"TO"}, "("}, 10).status().message().substr(0, 7), "ops \"(\"");
  EXPECT_EQ(watch_json(dump, {{"TO"}, "", "x"}, 10).status().message().substr(0, 6), "steps:");
  EXPECT_EQ(watch_json(dump, {{"no"}}, 10).status().message().substr(0, 6), "watch:");
}

}  // namespace
}  // namespace tensortap
