#include "table/job_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensortap {
namespace {

using testing::ElementsAre;

std::vector<OpInfo> ops_of(const std::vector<std::string>& names) {
  std::vector<OpInfo> ops;
  for (const std::string& name : names) {
    OpInfo op;
    op.name = name;
    op.type = "Add";
    ops.push_back(op);
  }
  return ops;
}

std::vector<std::string> names_of(const JobOps& job) {
  std::vector<std::string> names;
  for (const JobOps::Op& op : job.ops()) names.push_back(op.name);
  return names;
}

TEST(JobOps, StandWhereTheirDumpHasThem) {
  JobOps job;
  job.add(ops_of({"a", "c", "e"}));
  job.add(ops_of({"c", "d", "e", "f"}));  // behind what they follow
  job.add(ops_of({"0", "1", "a"}));       // before the first known one
  job.add(ops_of({"x", "y"}));            // a separate stage: at the end
  job.add(ops_of({"e", "c", "a"}));       // another order of known ones changes nothing
  job.finish();
  EXPECT_THAT(names_of(job), ElementsAre("0", "1", "a", "c", "d", "e", "f", "x", "y"));
  EXPECT_THAT(std::vector(job.numbers(1).begin(), job.numbers(1).end()), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(std::vector(job.numbers(4).begin(), job.numbers(4).end()), ElementsAre(5, 3, 2));
  EXPECT_EQ(job.ops()[3].dumps, 3);
  EXPECT_EQ(job.ops()[7].first_dump, 3);
}

TEST(JobOps, AreTheSameByNameTypeModuleAndGraph) {
  JobOps job;
  std::vector<OpInfo> ops = ops_of({"a"});
  job.add(ops);
  for (std::string OpInfo::*part : {&OpInfo::type, &OpInfo::module, &OpInfo::graph}) {
    OpInfo other = ops.front();
    other.*part = "b";
    job.add(std::vector{other});
  }
  job.add({});
  job.finish();
  EXPECT_EQ(job.ops().size(), 4);
  EXPECT_TRUE(job.numbers(4).empty());
}

}  // namespace
}  // namespace tensortap
