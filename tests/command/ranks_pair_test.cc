// `tensortap ranks` on jobs of two ranks: what two can show, in words that blame neither.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "command/ranks_job.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RanksOfTwo : public RanksOfMadeJobs {
 protected:
  using Change = std::function<void(int, MadeRank&)>;
  // Two ranks, twelve steps of the ops a, b, c, d; a sum over ranks; and an update of the weight w by a gradient.
  void make_two(const Change& change = [](int, MadeRank&) {}) {
    for (int rank = 0; rank < 2; ++rank) {
      MadeRank made{{"a", "b", "c", "d", "sum", "update"}, {}, {{"sum", "allreduce"}}};
      made.manifest["world_size"] = 2;
      made.manifest["rank"] = rank;
      made.manifest["runtime"]["process_groups"] = {{{"name", "0"}, {"ranks", {0, 1}}}};
      for (int64_t step = 0; step < kSteps; ++step) {
        // Now the one and now the other rank has the larger values, as batches have it.
        const double batch = std::exp(0.3 * static_cast<double>((step * 7 + rank * 3) % 5 - 2));
        for (uint32_t op = 0; op < 4; ++op) made.rows.push_back(row_of(op, step, (2 + op) * batch));
        const double sum = 7 + static_cast<double>(step);
        made.rows.push_back(row_of(4, step, sum));
        made.rows.push_back(row_of(5, step, 5 + 0.5 * static_cast<double>(step), {4, 8}));
        made.rows.back().slot_kind = static_cast<uint8_t>(tensortap::SlotKind::kWeight);
        made.rows.push_back(row_of(5, step, 3 + static_cast<double>(step), {4, 8}));
        made.rows.back().slot_kind = static_cast<uint8_t>(tensortap::SlotKind::kGradient);
        for (size_t i = made.rows.size() - kRows; i < made.rows.size(); ++i) made.rows[i].rank = rank;
      }
      change(rank, made);
      write_rank(job() + "/rank_" + std::to_string(rank), made);
    }
  }
  static RecordRow& row(MadeRank& made, size_t place, int64_t step) { return made.rows[static_cast<size_t>(step) * kRows + place]; }
  static void scale(RecordRow& row, double factor) {
    row.stats.l2 *= factor;
    row.stats.min *= factor;
    row.stats.max *= factor;
    row.stats.absmax *= factor;
  }

  static constexpr int64_t kSteps = 12;
  static constexpr size_t kRows = 7;
  static constexpr size_t kSum = 4;
  static constexpr size_t kWeight = 5;
  static constexpr size_t kGradient = 6;
};

// B15
TEST_F(RanksOfTwo, AHealthyJobIsSaidToBeJudged) {
  make_two();
  const Done done = ranks();
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("apart from each other: none of 4 tensors of the forward pass stays"), HasSubstr("replicas: equal")));
  const Json apart = ranks("--json").object()["apart"];
  EXPECT_EQ(apart["pair"], Json::parse(R"({"judged": 4, "far": 0, "apart": false, "times": null, "larger": null, "since": null})"));
}

// B15
TEST_F(RanksOfTwo, ValuesThatStayInAnotherRangeAreAFindingOfBoth) {
  make_two([](int rank, MadeRank& made) {
    for (int64_t step = 5; rank == 0 && step < kSteps; ++step) {
      for (const size_t op : {1, 2, 3}) scale(row(made, op, step), 100);
    }
  });
  const Done done = ranks();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, AllOf(HasSubstr("3 of 4 tensors of the forward pass stay several times larger"),
                              HasSubstr("which of the two is off, two ranks cannot say"), HasSubstr("since step 5, b (Mul): ")));
  const Json pair = ranks("--json").object()["apart"]["pair"];
  EXPECT_EQ(pair["larger"], 0);
  EXPECT_EQ(pair["since"]["op"], "b");
  // 7 steps of 100 times e to the 0.3 times a difference of batches, which takes turns.
  EXPECT_NEAR(std::log(pair["times"].get<double>()), std::log(100), 0.5);
}

// B15
TEST_F(RanksOfTwo, BatchesOfOddStepsAndGradientsThatVanishAreNoFinding) {
  make_two([](int rank, MadeRank& made) {
    for (int64_t step = 0; step < kSteps; ++step) {
      // A batch that is far, now of the one and now of the other rank.
      if (step % 2 == rank) scale(row(made, 0, step), 500);
      if (step % 2 == rank) scale(row(made, 1, step), 500);
      row(made, 2, step).phase = row(made, 3, step).phase = static_cast<uint8_t>(tensortap::Phase::kBackward);
      if (rank == 1) scale(row(made, 2, step), 1e-9);
      if (rank == 1) scale(row(made, 3, step), 1e-9);
    }
  });
  const Done done = ranks("--json");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(done.object()["apart"]["pair"]["judged"], 2);
  EXPECT_EQ(done.object()["apart"]["pair"]["far"], 0);
}

TEST_F(RanksOfTwo, OneStepJudgesNothingAndSaysSo) {
  make_two([](int rank, MadeRank& made) {
    made.rows.resize(kRows);
    for (size_t op = 0; op < 4; ++op) scale(made.rows[op], rank == 0 ? 1 : 1e6);
  });
  EXPECT_THAT(ranks().out, HasSubstr("apart from each other: not judged: "));
}

// B15
TEST_F(RanksOfTwo, WeightsAndSumsThatPartBlameNeither) {
  make_two([](int rank, MadeRank& made) {
    for (int64_t step = 7; rank == 1 && step < kSteps; ++step) scale(row(made, kWeight, step), 1.001);
  });
  const Json later = ranks("--json").object()["replicas"];
  ASSERT_EQ(later["unequal"].size(), 1U);
  EXPECT_EQ(later["unequal"][0]["step"], 7);
  EXPECT_EQ(later["unequal"][0]["undecided"], true);
  EXPECT_EQ(later["ranks"], Json::parse(R"([{"rank": 0, "tensors": 1}, {"rank": 1, "tensors": 1}])"));
  EXPECT_THAT(ranks().out, AllOf(HasSubstr("which of the two ranks is off, two ranks cannot say"),
                                 HasSubstr("rank 1 not as in rank 0, either may be off")));
  // Sums that an all-reduce left are equal from the first step on.
  make_two([](int rank, MadeRank& made) {
    for (int64_t step = 0; rank == 1 && step < kSteps; ++step) scale(row(made, kSum, step), 1.5);
  });
  const Done sums = ranks("--json");
  EXPECT_EQ(sums.code, 1);
  EXPECT_EQ(sums.object()["replicas"]["unequal"][0]["op"], "sum");
  EXPECT_EQ(sums.object()["replicas"]["unequal"][0]["step"], 0);
}

// B15
TEST_F(RanksOfTwo, AWeightThatNeverWasEqualIsAShardUnlessItsGradientIsEqual) {
  const auto other_weights = [](int rank, MadeRank& made) {
    for (int64_t step = 0; rank == 1 && step < kSteps; ++step) scale(row(made, kWeight, step), 1.3);
  };
  make_two(other_weights);
  const Done wrong = ranks("--json");
  EXPECT_EQ(wrong.code, 1);
  ASSERT_EQ(wrong.object()["replicas"]["unequal"].size(), 1U);
  EXPECT_EQ(wrong.object()["replicas"]["unequal"][0]["role"], "weight");
  EXPECT_EQ(wrong.object()["replicas"]["never_equal"], 0);
  make_two([&](int rank, MadeRank& made) {
    other_weights(rank, made);
    for (int64_t step = 0; rank == 1 && step < kSteps; ++step) scale(row(made, kGradient, step), 0.9);
  });
  EXPECT_EQ(ranks().code, 0) << "a shard has separate gradients";
  EXPECT_THAT(ranks().out, HasSubstr("2 never were, as shards, or apart before the first step that was captured: two ranks cannot say"));
}

// B15
TEST_F(RanksOfTwo, WhereAGroupOfOneRankExistsItsSumsAreNotCompared) {
  make_two([](int rank, MadeRank& made) {
    made.manifest["runtime"]["process_groups"].push_back({{"name", "1"}, {"ranks", {rank}}});
    for (int64_t step = 0; rank == 1 && step < kSteps; ++step) scale(row(made, kSum, step), 1.5);
  });
  EXPECT_EQ(ranks().code, 0);
}

TEST_F(RanksOfTwo, WhatWasNeverEqualIsNotCalledEqual) {
  make_two([](int rank, MadeRank& made) {
    std::erase_if(made.rows, [](const RecordRow& one) { return one.op == 4; });
    for (RecordRow& one : made.rows) {
      if (one.op == 5 && rank == 1) scale(one, 1.1);
    }
  });
  const Done done = ranks();
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("replicas: not judged: none of 2 tensors was ever equal"), Not(HasSubstr("replicas: equal"))));
}

}  // namespace
}  // namespace command
