// `tensortap ranks`: the rank that is slow, that died, that computes in another type, or that made a NaN which others received.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "command/ranks_job.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RanksFaults : public RanksOfMadeJobs {};

// Eight steps of a rank: an op of 1 ms, a collective until the last rank arrives, another op of 1 ms. A rank that comes late has a short
// collective.
MadeRank rank_that_waits(int64_t late_ns, int64_t latest_ns, bool with_noise) {
  constexpr int64_t kMs = 1'000'000;
  MadeRank made{{"load", "sum", "use"}, {}, {{"sum", "c10d.allreduce_"}}};
  int64_t now = 100 * kMs;
  const auto add = [&](uint32_t op, int64_t step, int64_t duration) {
    now += duration;
    made.rows.push_back(row_of(op, step, 2));
    made.rows.back().time_ns = now;
    made.rows.back().duration_ns = duration;
  };
  for (int64_t step = 0; step < 8; ++step) {
    // The machine does something else now and then.
    const int64_t noise = with_noise && step % 3 == 1 ? 40 * kMs : 0;
    now += late_ns;
    add(0, step, kMs);
    now += noise;
    add(1, step, 2 * kMs + latest_ns - late_ns + 40 * kMs - noise);
    now += kMs / 10;
    add(2, step, kMs);
  }
  return made;
}

// B15
TEST_F(RanksFaults, TheSlowRankIsTheOneThatTheOthersWaitFor) {
  constexpr int64_t kLate = 30'000'000;
  for (const int late : {-1, 0, 2}) {
    for (int rank = 0; rank < 4; ++rank) {
      MadeRank made = rank_that_waits(rank == late ? kLate : 0, late < 0 ? 0 : kLate, rank == 1);
      for (RecordRow& row : made.rows) row.rank = rank;
      write_rank(job() + "/rank_" + std::to_string(rank), made);
    }
    const Json durations = ranks("--json").object()["durations"];
    const std::string said = ranks().out;
    if (late < 0) {
      EXPECT_TRUE(durations["slowest"].is_null()) << durations.dump();
      EXPECT_THAT(said, HasSubstr("slowest rank: none stands out\n"));
      continue;
    }
    ASSERT_EQ(durations["own"]["slow"].size(), 1U) << durations.dump();
    EXPECT_EQ(durations["slowest"]["rank"], late);
    EXPECT_NEAR(durations["slowest"]["excess_ns"].get<double>(), kLate, 1e5);
    EXPECT_EQ(durations["slowest"]["where"]["op"], "load");
    EXPECT_EQ(durations["slowest"]["where"]["before"], true);
    EXPECT_THAT(said, AllOf(HasSubstr("slowest rank: rank " + std::to_string(late) + " needs "), HasSubstr("30 ms more in each step"),
                            HasSubstr("most of it before load (Mul): 30 ms, where the others need 0 us")));
  }
}

// B15
TEST_F(RanksFaults, ARankOfAnotherTypeIsOneDifferenceOfType) {
  make([](int rank, MadeRank& made) {
    for (RecordRow& row : made.rows) {
      if (rank != 2) continue;
      row.dtype = static_cast<uint8_t>(tensortap::DType::kBFloat16);
      row.stats.l2 *= 1.001;
    }
  });
  const Done done = ranks("--json");
  const Json report = done.object();
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(report["found"], Json::array({"types"}));
  ASSERT_EQ(report["shapes"]["types"].size(), 1U);
  const Json& types = report["shapes"]["types"][0];
  EXPECT_EQ(types["tensors"], 3);
  EXPECT_EQ(types["dtypes"], Json::parse(R"([{"dtype": "float32", "ranks": [0, 1, 3]}, {"dtype": "bfloat16", "ranks": [2]}])"));
  EXPECT_THAT(ranks().out, HasSubstr("bfloat16 in rank 2, float32 in ranks 0, 1, 3: 3 tensors, the first is step 0, a:out0 (Mul)"));
}

// B15
TEST_F(RanksFaults, ARankThatDiedIsSaidWithItsLastOp) {
  make([](int rank, MadeRank& made) {
    if (rank == 1) made.rows.resize(5 * 3 + 1);
    if (rank == 1) made.manifest["complete"] = false;
  });
  const Done done = ranks("--json");
  EXPECT_EQ(done.code, 3) << done.said();
  const Json report = done.object();
  EXPECT_EQ(report["found"], Json::array({"died"}));
  const Json& end = report["progress"][1]["end"];
  EXPECT_EQ(end["how"], "died");
  EXPECT_EQ(end["step"], 5);
  EXPECT_EQ(end["op"], "a");
  EXPECT_EQ(report["progress"][0]["end"]["how"], "finished");
  EXPECT_THAT(ranks().out, HasSubstr("last step: 9; 1 rank ended too early\n  rank 1: died in step 5; its last op is a (Mul)\n"));
  make([](int rank, MadeRank& made) {
    if (rank == 3) made.rows.resize(5 * 3 + 2);
    const Json op = {{"name", "b"}, {"type", "Mul"}, {"step", 5}};
    if (rank == 3) made.manifest["crash"] = {{"text", "the program got SIGSEGV"}, {"signal", "SIGSEGV"}, {"op", op}};
  });
  EXPECT_THAT(ranks().out, HasSubstr("rank 3: died in step 5 of SIGSEGV, in b (Mul)\n"));
}

// B15
TEST_F(RanksFaults, WithinAStepTheRankThatMadeTheNaNComesBeforeThoseThatReceivedIt) {
  make([](int rank, MadeRank& made) {
    made.types = {{"a", "c10d.allreduce_"}};
    if (rank != 1) at(made, 0, 4).stats.nan = 1;
    if (rank == 1) at(made, 1, 4).stats.nan = 1;
  });
  EXPECT_EQ(ranks("--json").object()["nonfinite"]["first"]["rank"], 1);
  const Json found = tensortap("find job --json", {folder_.path()}).object();
  EXPECT_EQ(found["part"], "rank_1");
}

}  // namespace
}  // namespace command
