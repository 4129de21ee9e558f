// `tensortap export`: which files there are, what the answer counts, and steps at the ends of their range. Python tests read the cells.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Exported : public testing::Test {
 protected:
  Done at(const std::string& words) { return tensortap(words, {folder_.path()}); }
  // The dump of one rank of three, in which the op "only" exists twice.
  void record(int32_t rank, const std::vector<int64_t>& steps) const {
    const toy::Opened opened = toy::open_session(Json::object(), folder_ / "job", rank, 3);
    ASSERT_EQ(opened.status, 0) << opened.message;
    std::vector<tensortap_op_id> ops;
    for (const std::string name : {"first", "only", "last"}) {
      if (name != "only" || rank != 0) ops.push_back(toy::add_op(opened.session, name));
    }
    for (const int64_t step : steps) {
      for (const tensortap_op_id op : ops) toy::run_op(opened.session, op, step, {1, std::numeric_limits<float>::infinity(), -2});
    }
    tensortap_session_close(opened.session);
  }
  [[nodiscard]] std::vector<std::string> records_of(const std::string& target) const {
    return files_like(folder_ / target, "records/.*/.*");
  }

  toy::TempFolder folder_;
};

TEST_F(Exported, AFileHoldsAThousandStepsOfARank) {  // B15
  record(0, {0, 999, 1000});
  record(2, {5, 2007});
  for (const std::string form : {"parquet", "arrow"}) {
    const Done done = at("export job --to " + form + " --out " + form + " --group 2 --json");
    ASSERT_EQ(done.code, 0) << done.said();
    const Json answer = done.object();
    EXPECT_EQ(answer["records"], 3 * 2 + 2 * 3);
    EXPECT_EQ(answer["job_ops"], 3);
    EXPECT_EQ(answer["ranks"], Json({0, 2}));
    EXPECT_EQ(answer["missing_ranks"], Json::array({1}));
    EXPECT_THAT(records_of(form), ElementsAre("records/rank=0/steps=000000-000999." + form, "records/rank=0/steps=001000-001999." + form,
                                              "records/rank=2/steps=000000-000999." + form, "records/rank=2/steps=002000-002999." + form));
    EXPECT_THAT(files_like(folder_ / form, "[^/]*[.].*|ops/.*/.*"),
                ElementsAre("_tensortap.json", "job_ops." + form, "ops/rank=0/ops." + form, "ops/rank=2/ops." + form));
    const std::string mark = form == "parquet" ? "PAR1" : "ARROW1";
    for (const std::string& name : records_of(form)) {
      const std::string content = read(folder_ / (form + "/" + name));
      EXPECT_TRUE(content.starts_with(mark) && content.ends_with(mark)) << name;
    }
  }
}

TEST_F(Exported, TheLastStepsThatThereCanBeHaveFilesOfTheirOwn) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  record(1, {most, 0, most - 1000});
  const Done done = at("export job --out tables --json");
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(done.object()["records"], 9);
  EXPECT_THAT(records_of("tables"), ElementsAre("records/rank=1/steps=000000-000999.parquet",
                                                "records/rank=1/steps=9223372036854774000-9223372036854774999.parquet",
                                                "records/rank=1/steps=9223372036854775000-9223372036854775807.parquet"));
  EXPECT_EQ(Json::parse(read(folder_ / "tables/_tensortap.json"))["dumps"][0]["steps"], Json({int64_t{0}, most}));
}

TEST_F(Exported, WhatADamagedDumpLacksIsSaidAndTheOthersAreThere) {
  record(0, {0});
  record(1, {0});
  write(folder_ / "job/rank_1/records.npy", "no rows");
  const Done done = at("export job --out tables");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.err, HasSubstr("records.npy: the header is damaged"));
  EXPECT_THAT(records_of("tables"), ElementsAre("records/rank=0/steps=000000-000999.parquet"));
  EXPECT_EQ(at("export job --out tables").code, 2) << "there already";
}

}  // namespace
}  // namespace command
