// `tensortap ranks` on jobs made row by row, so that every answer is known.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "command/ranks_job.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Takes the mark off the last row that says that it is whole.
void make_uncommitted(const std::string& file) {
  std::string bytes = read(file);
  bytes[bytes.size() - sizeof(RecordRow) + offsetof(RecordRow, committed)] = '\0';
  write(file, bytes);
}

class Ranks : public RanksOfMadeJobs {};

TEST_F(Ranks, OfAHealthyJobNothingIsFound) {
  make();
  const Done done = ranks();
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.out, AllOf(HasSubstr("4 ranks, 3 ops, 10 steps (0 to 9)\n"), HasSubstr("first NaN or Inf: none\n"),
                              HasSubstr("apart from the other ranks: none; "), HasSubstr("replicas: equal: 1 tensor"),
                              HasSubstr("gradients: none captured\n"), HasSubstr("trends: none stands out\n"),
                              HasSubstr("ops and steps that ranks lack: none\n"), HasSubstr("shapes: nothing differs\n"),
                              HasSubstr("losses: none\n"), HasSubstr("last step: 9 in every rank\n")));
  const Json report = ranks("--json").object();
  EXPECT_EQ(report["found"], Json::array());
  EXPECT_EQ(report["job_ops"], 3);
  EXPECT_EQ(report["missing_ranks"], Json::array());
}

// B15
TEST_F(Ranks, TheFirstNaNIsThatOfTheEarliestStepAndOp) {
  make([](int rank, MadeRank& made) {
    // Clocks say otherwise: rank 1 is far ahead.
    for (RecordRow& row : made.rows) row.time_ns = rank == 1 ? 1 : 1000;
    if (rank == 1) at(made, 0, 6).stats.nan = 3;
    if (rank == 2) at(made, 1, 5).stats.pos_inf = 2;
    if (rank == 3) at(made, 1, 5).stats.nan = 1;
  });
  const Done done = ranks("--json");
  EXPECT_EQ(done.code, 1);
  const Json report = done.object();
  const Json& first = report["nonfinite"]["first"];
  EXPECT_EQ(first["rank"], 2);
  EXPECT_EQ(first["ranks"], Json::array({2, 3}));
  EXPECT_EQ(first["record"], "b:out0@5");
  EXPECT_EQ(first["pos_inf"], 2);
  EXPECT_EQ(first["origin"]["chain"].back()["record"], "b:out0@5");
  EXPECT_EQ(report["nonfinite"]["ranks"][2]["rank"], 1);
  EXPECT_EQ(report["found"], Json::array({"nonfinite"}));
  EXPECT_THAT(ranks().out, HasSubstr("first NaN or Inf: rank 2, step 5, b (Mul) out0: 2 +Inf"));
}

TEST_F(Ranks, ARankThatDriftsIsNamedWithTheOpAndTheStep) {
  make([](int rank, MadeRank& made) {
    for (int64_t step = 4; rank == 3 && step < 10; ++step) at(made, 1, step).stats.l2 *= 4;
  });
  const Json report = ranks("--json").object();
  const Json& apart = report["apart"]["ranks"];
  ASSERT_EQ(apart.size(), 1);
  EXPECT_EQ(apart[0]["rank"], 3);
  EXPECT_EQ(apart[0]["since"]["step"], 4);
  EXPECT_EQ(apart[0]["since"]["op"], "b");
  // a: |log(2.03 / 2.015)|. b: the same of 2.97 / 2.985, from step 4 on of 11.88 / 2.985, the median of 2.98, 2.99, 3.00 and 11.88. w: 0.
  const double a = std::log(2.03 / 2.015);
  const double b = (4 * std::log(2.985 / 2.97) + 6 * std::log(11.88 / 2.995)) / 10;
  EXPECT_NEAR(apart[0]["distance"].get<double>(), (a + b) / 3, 1e-9);
  EXPECT_THAT(ranks().out, HasSubstr("; since step 4, b (Mul)\n"));
}

// All values of a step come from one batch: single steps that are far show a batch, not a rank.
TEST_F(Ranks, ARankWithTwoOddBatchesIsNotApart) {
  make([](int rank, MadeRank& made) {
    for (int64_t step = 0; step < 10; ++step) {
      const bool is_odd = rank == 3 && step % 4 == 2;
      for (const size_t op : {0, 1})
        at(made, op, step).stats.l2 *= std::exp(0.1 * double((rank * 7 + step * 3) % 5 - 2)) * (is_odd ? 8 : 1);
    }
  });
  const Json report = ranks("--json").object();
  EXPECT_GT(report["apart"]["distances"][3]["distance"], report["apart"]["usual"].get<double>() * 3);
  EXPECT_EQ(report["apart"]["ranks"], Json::array());
}

TEST_F(Ranks, AWeightThatDivergesIsNoReplicaAnyMore) {
  make([](int rank, MadeRank& made) {
    for (int64_t step = 7; rank == 1 && step < 10; ++step) at(made, 2, step).stats.l2 += 1e-6;
  });
  const Json replicas = ranks("--json").object()["replicas"];
  ASSERT_EQ(replicas["unequal"].size(), 1);
  EXPECT_EQ(replicas["unequal"][0]["record"], "w:weight0@7");
  EXPECT_EQ(replicas["unequal"][0]["role"], "weight");
  EXPECT_EQ(replicas["unequal"][0]["ranks"], Json::array({1}));
  EXPECT_EQ(replicas["unequal"][0]["others"], Json::array({0, 2, 3}));
  EXPECT_THAT(ranks().out, HasSubstr("step 7, w:weight0@7 (Mul), weight: rank 1 not as in ranks 0, 2, 3"));
}

TEST_F(Ranks, ShardsAreNoReplicasUnlessTheCallerSaysSo) {
  // Two pairs hold the same, as with two ranks of tensor parallelism.
  const auto pairs = [](int rank, MadeRank& made) {
    for (int64_t step = 0; step < 10; ++step) at(made, 2, step).stats.l2 += rank % 2 == 0 ? 0 : 1;
  };
  make(pairs);
  EXPECT_EQ(ranks().code, 0);
  EXPECT_EQ(ranks("--groups dp=0+2,1+3").code, 0);
  const Done asked = ranks("--groups dp=0-3 --json");
  EXPECT_EQ(asked.code, 1);
  EXPECT_EQ(asked.object()["replicas"]["unequal"][0]["step"], 0);
  // A member of a pair that leaves it is seen without a word of the caller's.
  make([&](int rank, MadeRank& made) {
    pairs(rank, made);
    if (rank == 3) at(made, 2, 8).stats.l2 += 1;
  });
  const Json unequal = ranks("--json").object()["replicas"]["unequal"];
  ASSERT_EQ(unequal.size(), 1);
  EXPECT_EQ(unequal[0]["step"], 8);
  EXPECT_EQ(unequal[0]["ranks"], Json::array({3}));
  EXPECT_EQ(unequal[0]["others"], Json::array({1}));
}

TEST_F(Ranks, WhatARankLacksIsNamed) {
  make([](int rank, MadeRank& made) {
    if (rank == 0) made.names.emplace_back("log");
    if (rank == 0) made.rows.push_back(row_of(3, 2, 1));
    // Rank 2 has no step 6, rank 1 does not run b in step 3, rank 3 ends after step 7.
    std::erase_if(made.rows, [rank](const RecordRow& row) {
      return (rank == 2 && row.step == 6) || (rank == 1 && row.step == 3 && row.op == 1) || (rank == 3 && row.step > 7);
    });
  });
  const Done done = ranks("--json");
  EXPECT_EQ(done.code, 1);
  const Json missing = done.object()["missing"];
  ASSERT_EQ(missing["ops"].size(), 1);
  EXPECT_EQ(missing["ops"][0]["first"]["op"], "log");
  EXPECT_EQ(missing["ops"][0]["ranks"], Json::array({0}));
  EXPECT_EQ(missing["ops"][0]["most"], false);
  EXPECT_EQ(missing["steps"],
            Json::parse(R"([{"first": 6, "last": 6, "steps": 1, "lacking": [2]}, {"first": 8, "last": 9, "steps": 2, "lacking": [3]}])"));
  EXPECT_EQ(missing["lacking_executions"], 1);
  EXPECT_EQ(missing["executions"][0]["op"], "b");
  EXPECT_EQ(missing["executions"][0]["step"], 3);
  EXPECT_EQ(missing["executions"][0]["lacking"], Json::array({1}));
  EXPECT_EQ(done.object()["progress"][3]["last"], 7);
  EXPECT_EQ(done.object()["progress"][3]["behind"], 2);
  EXPECT_THAT(ranks().out, AllOf(HasSubstr("log (Mul): in rank 0 only"), HasSubstr("step 6: no records in rank 2"),
                                 HasSubstr("step 3, b (Mul), call 0: not in rank 1"),
                                 HasSubstr("last step: 9; 1 rank stopped before\n  rank 3: ended in step 7; its last op is w (Mul)\n")));
}

// B15
TEST_F(Ranks, StagesOfAPipelineHaveOpsAndShapesOfTheirOwn) {
  for (const bool sends : {true, false}) {
    make([sends](int rank, MadeRank& made) {
      made.names.emplace_back("next");
      made.types["next"] = sends ? "c10d.send" : "Mul";
      made.rows.push_back(row_of(3, 0, 1));
      if (rank < 3) made.names.emplace_back("inner");
      if (rank < 3) made.rows.push_back(row_of(4, 0, 1));
      if (rank == 3) at(made, 1, 0).set_desc({tensortap::DType::kFloat32, tensortap::Shape({2, 2})});
    });
    const Json expected = sends ? Json::array() : Json::array({"missing", "shapes"});
    EXPECT_EQ(ranks("--json").object()["found"], expected);
  }
}

TEST_F(Ranks, AnOpThatRanksRunInOtherStepsEquallyOftenIsNotLacking) {
  for (const bool twice : {true, false}) {
    make([twice](int rank, MadeRank& made) {
      if (rank != 1) return;
      RecordRow& moved = at(made, 1, 3);
      moved.step = 4;
      moved.call = 1;
      if (!twice) std::erase_if(made.rows, [](const RecordRow& row) { return row.call == 1; });
    });
    EXPECT_EQ(ranks("--json").object()["found"], twice ? Json::array() : Json::array({"missing"}));
  }
}

TEST_F(Ranks, WhereAnOpRunsMoreOftenItsCallsAreOfOtherTensors) {
  make([](int rank, MadeRank& made) {
    // From step 1 on the first call is that of a shard, and the former first call is the second.
    for (int64_t step = 1; step < 10; ++step) {
      RecordRow replica = at(made, 2, step);
      replica.call = 1;
      at(made, 2, step) = row_of(2, step, 7 + rank);
      at(made, 2, step).slot_kind = replica.slot_kind;
      at(made, 2, step).rank = rank;
      made.rows.push_back(replica);
    }
  });
  const Json report = ranks("--json").object();
  EXPECT_EQ(report["replicas"]["unequal"], Json::array());
  EXPECT_EQ(report["replicas"]["never_equal"], 1);
}

TEST_F(Ranks, WhatARankWasSentComesAfterWhatItMade) {
  make([](int rank, MadeRank& made) {
    made.types["a"] = "c10d.allreduce_";
    if (rank != 2) at(made, 0, 5).stats.nan = 1;
    if (rank == 2) at(made, 1, 5).stats.nan = 1;
  });
  const Json first = ranks("--json").object()["nonfinite"]["first"];
  EXPECT_EQ(first["rank"], 2);
  EXPECT_EQ(first["op"], "b");
}

TEST_F(Ranks, ShapesThatDifferAreJudged) {
  make([](int rank, MadeRank& made) {
    at(made, 0, 9) = row_of(0, 9, 2, {rank < 2 ? 4 : 6});
    if (rank == 1) at(made, 1, 4) = row_of(1, 4, 3, {2, 2});
    for (RecordRow& row : made.rows) row.rank = rank;
  });
  const Json shapes = ranks("--json").object()["shapes"];
  EXPECT_EQ(shapes["tensors"], 2);
  EXPECT_EQ(shapes["wrong"], 1);
  EXPECT_EQ(shapes["shapes"][0]["record"], "b:out0@4");
  EXPECT_EQ(shapes["shapes"][0]["shapes"][1], Json::parse(R"({"dtype": "float32", "shape": "2x2", "ranks": [1]})"));
  EXPECT_EQ(shapes["shapes"][1]["record"], "a:out0@9");
  EXPECT_EQ(shapes["shapes"][1]["wrong"], false);
}

TEST_F(Ranks, TheSlowestRankAndTheTrendOfOneRankAreNamed) {
  make([](int rank, MadeRank& made) {
    for (int64_t step = 0; step < 10; ++step) {
      at(made, 0, step).duration_ns = rank == 2 ? 5000 : 1000;
      RecordRow& grows = at(made, 1, step);
      if (rank == 1) grows.stats.l2 = grows.stats.max = grows.stats.absmax = std::exp2(static_cast<double>(step));
    }
  });
  const Json report = ranks("--json").object();
  EXPECT_EQ(report["durations"]["slowest"]["rank"], 2);
  EXPECT_NEAR(report["durations"]["slowest"]["ratio"].get<double>(), 7.0 / 3, 1e-9);
  EXPECT_EQ(report["durations"]["slowest"]["where"]["op"], "a");
  EXPECT_EQ(report["durations"]["spread"][0]["op"], "a");
  EXPECT_NEAR(report["durations"]["spread"][0]["ratio"].get<double>(), 5, 1e-9);
  const Json& trends = report["trends"];
  EXPECT_EQ(trends["in_all"]["count"], 0);
  ASSERT_EQ(trends["in_one"]["count"], 1);
  EXPECT_EQ(trends["in_one"]["trends"][0]["kind"], "exploding");
  EXPECT_EQ(trends["in_one"]["trends"][0]["op"], "b");
  EXPECT_EQ(trends["in_one"]["trends"][0]["ranks"], Json::array({1}));
  EXPECT_NEAR(trends["in_one"]["trends"][0]["slope"].get<double>(), 1, 1e-9);
}

TEST_F(Ranks, NormsOfGradientsAreThoseOfTheSlots) {
  make([](int rank, MadeRank& made) {
    for (int64_t step = 0; step < 10; ++step) {
      for (const uint32_t op : {0U, 1U}) {
        RecordRow row = row_of(op, step, op == 0 ? 3 : 4);
        row.slot_kind = static_cast<uint8_t>(tensortap::SlotKind::kGradient);
        row.rank = rank;
        made.rows.push_back(row);
      }
    }
  });
  const Json gradients = ranks("--json").object()["gradients"];
  EXPECT_EQ(gradients["global"][9], 5.0);
  EXPECT_EQ(gradients["layer_count"], 2);
  EXPECT_EQ(gradients["layers"][0]["layer"], "b");
  EXPECT_NEAR(gradients["layers"][0]["share"].get<double>(), 0.64, 1e-12);
  EXPECT_THAT(ranks().out, HasSubstr("gradients: norm 5 in step 0, 5 in step 9; most of it from b (64 %), a (36 %)"));
}

TEST_F(Ranks, WhatDumpsLackIsSaidAndTheRestAnswered) {
  make([](int rank, MadeRank& made) {
    if (rank == 0) made.manifest["complete"] = false;
    if (rank == 1) made.manifest["tensortap"] = "0.0.9";
  });
  write(job() + "/rank_2/records.npy", "no array");
  std::filesystem::remove_all(job() + "/rank_3");
  const Done done = ranks();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.out, HasSubstr("3 ranks, 3 ops, 10 steps"));
  EXPECT_THAT(done.err, AllOf(HasSubstr("rank 0: its capture did not end"),
                              HasSubstr("rank 1: was captured with tensortap 0.0.9, other ranks with tensortap 0.1.0"),
                              HasSubstr("rank 2: records.npy: the header is damaged"), HasSubstr("rank 2: has no records"),
                              HasSubstr("rank 3: no dump")));
  const Json report = ranks("--json").object();
  EXPECT_EQ(report["missing_ranks"], Json::array({3}));
  EXPECT_THAT(report["found"].dump(), AllOf(HasSubstr("without_records"), HasSubstr("missing_ranks")));
  EXPECT_EQ(report["replicas"]["unequal_tensors"], 0);
}

// B15
TEST_F(Ranks, ADumpThatCannotBeReadIsNamedWithItsRankAndTheAnswerIsIncomplete) {
  make();
  // As written by a release with other columns.
  write(job() + "/rank_2/records.npy", npy("[('step', '<i8'), ('norm', '<f8')]", {1}, std::string(16, '\0')));
  const Done done = ranks();
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("rank_2: records.npy: lacks the column \"sequence\""), Not(HasSubstr("no dump"))));
  EXPECT_THAT(done.out, AllOf(HasSubstr("3 ranks, 3 ops, 10 steps"), HasSubstr("last step: 9 in every rank\n")));
  const Json report = ranks("--json").object();
  ASSERT_EQ(report["unread"].size(), 1);
  EXPECT_EQ(report["unread"][0]["rank"], 2);
  EXPECT_EQ(report["unread"][0]["dump"], "job/rank_2");
  EXPECT_EQ(report["missing_ranks"], Json::array());
  EXPECT_EQ(report["found"], Json::array({"unread"}));
}

// B15
TEST_F(Ranks, ADumpWithoutNamesOfItsOpsIsDamagedAndNoAnswerNamesIt) {
  const auto with_nan = [](int rank, MadeRank& made) {
    if (rank == 1) at(made, 0, 1).stats.nan = 1;
    if (rank == 3) at(made, 1, 4).stats.nan = 1;
  };
  for (const bool is_there : {false, true}) {
    make(with_nan);
    if (is_there) write(job() + "/rank_1/ops.jsonl", std::string(200, '\0'));
    if (!is_there) std::filesystem::remove(job() + "/rank_1/ops.jsonl");
    const Done done = ranks();
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.err, AllOf(HasSubstr("rank_1: damaged: it has 30 records and no names of their ops"), HasSubstr("ops.jsonl")));
    EXPECT_THAT(done.out, HasSubstr("3 ranks, 3 ops, 10 steps"));
    const Json report = ranks("--json").object();
    EXPECT_EQ(report["unread"][0]["rank"], 1);
    EXPECT_EQ(report["missing_ranks"], Json::array());
    EXPECT_EQ(report["nonfinite"]["first"]["rank"], 3);
    EXPECT_EQ(report["nonfinite"]["first"]["op"], "b");
    EXPECT_EQ(report["found"], Json::array({"unread", "nonfinite"}));
  }
  // One line of three.
  make(with_nan);
  const std::string ops = read(job() + "/rank_1/ops.jsonl");
  write(job() + "/rank_1/ops.jsonl", "{]" + ops.substr(ops.find('\n')));
  const Done done = ranks("--json");
  const Json report = done.object();
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(report["ranks"][1]["notes"].dump(),
              AllOf(HasSubstr("ops.jsonl:1"), HasSubstr("10 records are of ops that the dump does not name")));
  EXPECT_EQ(report["nonfinite"]["first"]["rank"], 3);
  EXPECT_EQ(report["nonfinite"]["ranks"].size(), 1);
  EXPECT_THAT(report.dump(), Not(HasSubstr(R"("op":"")")));
  EXPECT_EQ(report["job_ops"], 3);
  EXPECT_EQ(report["found"], Json::array({"nonfinite", "missing"}));
}

TEST_F(Ranks, AJobOfWhichNothingCanBeReadFails) {
  make();
  for (int rank = 0; rank < 4; ++rank) {
    write(job() + "/rank_" + std::to_string(rank) + "/records.npy", npy("[('step', '<i8'), ('norm', '<f8')]", {1}, std::string(16, '\0')));
  }
  const Done done = ranks();
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("rank_0: records.npy: lacks the column \"sequence\""));
  EXPECT_EQ(lines_of(done.err).size(), 1) << done.err;
}

TEST_F(Ranks, RowsThatWereBeingWrittenAreLeftOutAndSaid) {
  // The process was killed while it wrote: rank 1 in the middle of a row of step 8, rank 3 before its last row was whole.
  make();
  const std::string file = job() + "/rank_1/records.npy";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 5 * sizeof(RecordRow) - 100);
  make_uncommitted(job() + "/rank_3/records.npy");
  std::filesystem::remove(job() + "/rank_3/run.json");  // which is written last
  const Done done = ranks("--json");
  EXPECT_EQ(done.code, 1);
  const Json report = done.object();
  EXPECT_EQ(report["ranks"][1]["records"], 24);
  EXPECT_THAT(report["ranks"][1]["notes"].dump(), HasSubstr("records.npy"));
  EXPECT_EQ(report["ranks"][3]["records"], 29);
  EXPECT_EQ(report["progress"][1]["last"], 7);
  EXPECT_EQ(report["progress"][3]["last"], 9);
  EXPECT_EQ(report["nonfinite"]["first"], nullptr);
  EXPECT_EQ(report["found"], Json::array({"died", "missing"}));
}

TEST_F(Ranks, ClocksThatAreApartAndOtherFrameworksChangeNoAnswer) {
  make([](int rank, MadeRank& made) {
    made.manifest["source"] = rank == 3 ? "pytorch 2.15.0" : "pytorch 2.13.0";
    made.manifest["started"] = "20" + std::to_string(10 + 20 * rank) + "-01-01T00:00:00Z";
    for (RecordRow& row : made.rows) row.time_ns += (rank - 2) * 1'000'000'000'000'000;
  });
  const Done done = ranks();
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.err, HasSubstr("rank 3: was captured with pytorch 2.15.0, other ranks with pytorch 2.13.0"));
  EXPECT_EQ(ranks("--json").object()["found"], Json::array());
}

TEST_F(Ranks, OneRankAndDumpsWithoutNumbersAreAnsweredToo) {
  make();
  const Done one = tensortap("ranks job/rank_1", {folder_.path()});
  EXPECT_THAT(one.out, AllOf(HasSubstr("1 rank, 3 ops"), HasSubstr("replicas: one rank")));
  for (const char* name : {"x", "y"}) {
    MadeRank made{{"a"}, {row_of(0, 0, 1)}};
    made.manifest.erase("world_size");
    write_rank(folder_ / name, made);
  }
  const Json two = tensortap("ranks x y --json", {folder_.path()}).object();
  EXPECT_EQ(two["ranks"].size(), 2);
  EXPECT_EQ(two["ranks"][1]["rank"], 1);
  // Several ranks in one dump.
  MadeRank both{{"a"}, {row_of(0, 0, 1), row_of(0, 0, 1)}};
  both.rows[1].rank = 1;
  both.manifest.erase("world_size");
  write_rank(folder_ / "both", both);
  EXPECT_EQ(tensortap("ranks both --json", {folder_.path()}).object()["ranks"].size(), 2);
}

TEST_F(Ranks, TheMapHasEachRankAndStep) {
  make([](int rank, MadeRank& made) {
    if (rank == 1) at(made, 0, 6).stats.nan = 3;
    if (rank == 3) made.rows.resize(3 * 8);
  });
  const Json map = ranks("--json").object()["map"];
  ASSERT_EQ(map["steps"].size(), 10U);
  EXPECT_EQ(map["steps"][9], Json({{"first", 9}, {"last", 9}}));
  EXPECT_EQ(map["ranks"][1]["nonfinite"], Json({0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(map["ranks"][3]["records"], Json({3, 3, 3, 3, 3, 3, 3, 3, 0, 0}));
  EXPECT_EQ(map["ranks"][3]["distances"][9], nullptr);
  // a: 2 to 2.03, median 2.015; b: 3 down to 2.97, median 2.985; the weight is alike in all.
  const double distance = (std::abs(std::log(2 / 2.015)) + std::abs(std::log(3 / 2.985))) / 3;
  EXPECT_NEAR(map["ranks"][0]["distances"][0].get<double>(), distance, 1e-9);
}

TEST_F(Ranks, OfManyStepsSeveralStandTogether) {
  const auto made = [](double shift) {
    MadeRank one{{"a"}, {}};
    for (int64_t step = 0; step < 1203; ++step) one.rows.push_back(row_of(0, step, step % 3 == 0 ? 2 + shift : 2));
    return one;
  };
  for (int rank = 0; rank < 3; ++rank) write_rank(job() + "/rank_" + std::to_string(rank), made(rank == 2 ? 1 : 0));
  const Json map = ranks("--json").object()["map"];
  ASSERT_EQ(map["steps"].size(), 401U);
  EXPECT_EQ(map["steps"][400], Json({{"first", 1200}, {"last", 1202}}));
  EXPECT_EQ(map["ranks"][0]["records"][400], 3);
  EXPECT_NEAR(map["ranks"][2]["distances"][0].get<double>(), std::log(1.5) / 3, 1e-9);
}

TEST_F(Ranks, MistakesAreOfTheWordsThatWereGiven) {
  make();
  const std::pair<const char*, const char*> rows[] = {
      {"ranks", "give the folder of a job"},
      {"ranks job --groups 0-3", "--groups \"0-3\": a group has a name; for example dp=0-3,4-7"},
      {"ranks job --groups dp=0-x", "\"0-x\" is no rank and no range of ranks"},
      {"ranks job --groups dp=3-1", "\"3-1\" is no rank"},
      {"ranks job --groups dp=0-2,2-3", "rank 2 is listed twice"},
      {"ranks job --groups dp=3-9", "has fewer than two ranks with a dump; there are 0-3"},
      {"ranks job --limit 0", "--limit"},
  };
  for (const auto& [words, said] : rows) {
    const Done done = tensortap(words, {folder_.path()});
    EXPECT_EQ(done.code, 2) << words << done.said();
    EXPECT_THAT(done.err, HasSubstr(said)) << words;
  }
  EXPECT_EQ(tensortap("ranks nowhere", {folder_.path()}).code, 2);
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(tensortap("ranks empty", {folder_.path()}).code, 2);
}

}  // namespace
}  // namespace command
