#include "session/overflow_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// x -> divide (0) -> add (1, reads divide and the weight) -> relu (2, reads add twice)
enum : OpId { kX, kWeight, kDivide, kAdd, kRelu };

class OverflowGateTest : public testing::Test {
 protected:
  OverflowGateTest() {
    const std::pair<const char*, std::vector<OpId>> all[] = {
        {"x", {}}, {"weight", {}}, {"divide", {kX}}, {"add", {kDivide, kWeight}}, {"relu", {kAdd, kAdd}}};
    for (const auto& [name, producers] : all) {
      OpInfo op;
      op.name = name;
      for (const OpId producer : producers) op.inputs.push_back({concat("value", producer), producer, 0});
      op.outputs = {name};
      ops_.push_back(std::move(op));
    }
  }

  // Names of the records that pass when `op` makes `nan` NaNs, with "*" for records that were kept for a reader.
  std::vector<std::string> run(OpId op, uint64_t nan, uint64_t run_number = 0, bool asked = true) {
    QueuedRecord record;
    record.row.op = op;
    record.row.run = run_number;
    record.row.stats.nan = nan;
    record.row.phase = static_cast<uint8_t>(op == kWeight ? Phase::kLoad : Phase::kInference);
    std::vector<QueuedRecord> records;
    records.push_back(std::move(record));
    std::vector<std::string> passed;
    for (const QueuedRecord& one : gate_.pass({run_number, op, 0}, ops_[op], asked && op > kWeight, std::move(records))) {
      passed.push_back(ops_[one.row.op].name + ((one.row.flags & kRecordForReaders) != 0 ? "*" : ""));
    }
    return passed;
  }

  std::vector<OpInfo> ops_;
  OverflowGate gate_{OverflowOps::kMakers, 0};
};

TEST_F(OverflowGateTest, LetsTheOpPassThatMadeTheFirstNanWithItsInputs) {
  gate_.bind(ops_);
  EXPECT_THAT(run(kWeight, 0), IsEmpty());
  EXPECT_THAT(run(kX, 0), IsEmpty());
  EXPECT_THAT(run(kDivide, 0), IsEmpty());
  EXPECT_THAT(run(kAdd, 3), ElementsAre("divide*", "weight*", "add"));
  EXPECT_THAT(run(kRelu, 3), IsEmpty()) << "its input had the NaN already";
  EXPECT_EQ(gate_.fired(), 1U);
}

TEST_F(OverflowGateTest, LetsOpsThatPassNanOnPassToo) {  // M10
  OverflowGate all(OverflowOps::kAll, 0);
  all.bind(ops_);
  const auto run = [&](OpId op, uint64_t nan) {
    std::vector<QueuedRecord> records(1);
    records[0].row.op = op;
    records[0].row.stats.nan = nan;
    std::vector<std::string> passed;
    for (const QueuedRecord& one : all.pass({0, op, 0}, ops_[op], op > kWeight, std::move(records))) {
      passed.push_back(ops_[one.row.op].name + ((one.row.flags & kRecordForReaders) != 0 ? "*" : ""));
    }
    return passed;
  };
  EXPECT_THAT(run(kWeight, 0), IsEmpty());
  EXPECT_THAT(run(kX, 1), IsEmpty()) << "an input of the graph is no op";
  EXPECT_THAT(run(kDivide, 2), ElementsAre("x*", "divide"));
  EXPECT_THAT(run(kAdd, 3), ElementsAre("weight*", "add")) << "divide is written already";
  EXPECT_THAT(run(kRelu, 0), IsEmpty()) << "its output is finite";
  EXPECT_EQ(all.fired(), 2U);
}

TEST_F(OverflowGateTest, WritesAnInputOnce) {
  EXPECT_THAT(run(kWeight, 0), IsEmpty());
  for (uint64_t step = 0; step < 2; ++step) {
    EXPECT_THAT(run(kX, 0), IsEmpty());
    EXPECT_THAT(run(kDivide, 0), IsEmpty());
    const std::vector<std::string> passed = run(kAdd, 1);
    EXPECT_EQ(passed.size(), step == 0 ? 3U : 2U) << "the weight was written in the first step";
    gate_.end_step(0);
  }
}

TEST_F(OverflowGateTest, AnOpThatReadsNanMakesNone) {
  EXPECT_THAT(run(kX, 1), IsEmpty());
  EXPECT_THAT(run(kDivide, 5), IsEmpty());
  EXPECT_EQ(gate_.fired(), 0U);
}

TEST_F(OverflowGateTest, RunsAreKeptApart) {
  EXPECT_THAT(run(kX, 1, 1), IsEmpty());
  EXPECT_THAT(run(kX, 0, 2), IsEmpty());
  EXPECT_THAT(run(kDivide, 5, 1), IsEmpty());
  EXPECT_THAT(run(kDivide, 5, 2), ElementsAre("x*", "divide"));
}

TEST_F(OverflowGateTest, StopsAtItsLimitAndCountsTheRest) {
  OverflowGate limited(OverflowOps::kMakers, 1);
  for (int i = 0; i < 3; ++i) {
    std::vector<QueuedRecord> records(1);
    records[0].row.op = kDivide;
    records[0].row.stats.pos_inf = 1;
    EXPECT_EQ(limited.pass({0, kDivide, 0}, ops_[kDivide], true, std::move(records)).size(), i == 0 ? 1U : 0U);
  }
  EXPECT_EQ(limited.fired(), 1U);
  EXPECT_EQ(limited.over_limit(), 2U);
}

TEST_F(OverflowGateTest, OpsThatWereNotAskedForDoNotFire) {
  EXPECT_THAT(run(kX, 0), IsEmpty());
  EXPECT_THAT(run(kDivide, 2, 0, false), IsEmpty());
  EXPECT_THAT(run(kAdd, 2), IsEmpty()) << "the NaN came from an op that was not asked for";
}

TEST_F(OverflowGateTest, LetsValuesGoWithTheirLastReader) {
  gate_.bind(ops_);
  EXPECT_THAT(run(kX, 0), IsEmpty());
  EXPECT_THAT(run(kDivide, 0), IsEmpty());
  EXPECT_THAT(run(kDivide, 1), ElementsAre("divide")) << "its input x was let go after its only reader";
}

}  // namespace
}  // namespace tensortap
