// `find --trends` and `find --watch` on dumps of small models: exit codes, words, mistakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// y = 1.5 (x + x), which is the next step's x: three times as much in each step. b is -1.
class FindQuestions : public SuiteFolder<FindQuestions> {
 public:
  static void make() {
    write(*folder_ / "m.onnx",
          model({{"Add", "net/sum", {"x", "x"}, {"s"}}, {"Mul", "net/product", {"s", "w"}, {"y"}}}, {2, 3}, {{"w", {}, {1.5F}}}));
    write(*folder_ / "x.npy", npy({2, 3}, {1, 0, 2, -3, 0.5F, 1}));
    ASSERT_EQ(tensortap("run m.onnx --input x=x.npy --runs 12 --carry y=x --stats --optimize none --out grows", {folder_->path()}).code, 0);
    ASSERT_EQ(tensortap("run m.onnx --input x=x.npy --runs 12 --full --optimize none --out same", {folder_->path()}).code, 0);
  }
};

// B4
TEST_F(FindQuestions, TrendsNameWhatGrowsAndHowFast) {
  const Done done = at("find grows --trends --json");
  EXPECT_EQ(done.code, 1) << done.said();
  const Json report = done.object();
  EXPECT_EQ(report["steps"], 12);
  ASSERT_FALSE(report["trends"].empty());
  const Json& first = report["trends"][0];
  EXPECT_EQ(first["kind"], "exploding");
  EXPECT_NEAR(first["slope"].get<double>(), 1.584962500721156, 1e-6) << "log2(3)";
  EXPECT_EQ(first["step"], 11);
  EXPECT_NEAR(first["steps_to_limit"].get<double>(), (128 - std::log2(9 * std::pow(3, 11))) / 1.584962500721156, 1e-3);
  EXPECT_THAT(at("find grows --trends").out,
              AllOf(HasSubstr("exploding: "), HasSubstr("net/product:out0@11 (Mul): "), HasSubstr("doubled every 0.6 steps since step 0"),
                    HasSubstr("more such steps to the limit of float32")));
}

TEST_F(FindQuestions, WithoutATrendTheExitCodeIs0) {
  const Done done = at("find same --trends");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("no trend stands out"));
  EXPECT_THAT(at("find grows --trends --last 3").out, HasSubstr("nothing to judge: no series has statistics of 4 steps"));
}

// M25
TEST_F(FindQuestions, WatchpointsListWhatTheyHoldFor) {
  const Done done = at("find same --watch tensor_too_large:max_gt=5,abs_mean_gt=100 --watch TZ --steps 3-4 --json");
  EXPECT_EQ(done.code, 1) << done.said();
  const Json report = done.object();
  EXPECT_EQ(report["hits"], 2);
  const Json& large = report["watchpoints"][0];
  EXPECT_EQ(large["hits"][0]["record"], "net/product:out0@3");
  EXPECT_EQ(large["hits"][0]["parameters"], Json::parse(R"([{"name": "abs_mean_gt", "value": 100.0, "hit": false, "actual": 3.75},
                            {"name": "max_gt", "value": 5.0, "hit": true, "actual": 6.0}])"));
  EXPECT_EQ(report["watchpoints"][1]["hit_count"], 0);
  EXPECT_THAT(at("find same --watch tensor_too_large:max_gt=5 --ops product --limit 2").out,
              AllOf(HasSubstr("tensor_too_large (max_gt=5): 12 hits of 12 records"),
                    HasSubstr("  step 0, net/product:out0 (Mul): max_gt (6)"), HasSubstr("and 10 more (--limit)")));
  EXPECT_EQ(at("find same --watch tensor_too_large:max_gt=7").code, 0);
}

TEST_F(FindQuestions, StatisticsAreEnoughWhereTheySayIt) {
  const Json report = at("find grows --watch TL:max_gt=100 --watch tensor_not_changed --json").object();
  EXPECT_GT(report["watchpoints"][0]["hit_count"], 0);
  EXPECT_EQ(report["watchpoints"][0]["unknown"], 0);
  EXPECT_GT(report["watchpoints"][1]["unknown"], 0) << "a change needs the data";
  EXPECT_THAT(at("find grows --watch tensor_not_changed").out, HasSubstr("without the statistics or data that it needs"));
}

TEST_F(FindQuestions, MistakesAreOfTheWordsThatWereGiven) {
  const std::pair<const char*, const char*> rows[] = {
      {"find same --watch tensor_to_large", "--watch: \"tensor_to_large\" is no condition; did you mean tensor_too_large (abs_mean_gt, "},
      {"find same --watch TL", "tensor_too_large needs one or more of"},
      {"find same --watch TO --ops (", "--ops \"(\": not a regular expression"},
      {"find same --watch TO --steps x", "--steps: the steps \"x\""},
      {"find same --steps 3", "--steps requires --watch"},
      {"find same --last 3", "--last requires --trends"},
      {"find same --trends --watch TO", "excludes"},
      {"find same --trends --suspects", "excludes"},
  };
  for (const auto& [words, said] : rows) {
    const Done done = at(words);
    EXPECT_EQ(done.code, 2) << words;
    EXPECT_THAT(done.err, HasSubstr(said)) << words;
  }
  EXPECT_THAT(at("find nothing --watch nonsense").err, Not(HasSubstr("nothing"))) << "a condition is checked before the dump is opened";
}

}  // namespace
}  // namespace command
