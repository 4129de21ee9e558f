// `tensortap compare`: dumps of small models, faults planted in one of them, options and what is wrong with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string softmax_model(float fault) {
  std::vector<float> weights = small_weights();
  weights[5] *= fault;
  return model({{"MatMul", "matmul_1", {"x", "w"}, {"a"}},
                {"Floor", "floor_1", {"x"}, {"f"}},
                {"Softmax", "softmax_1", {"a"}, {"s"}},
                {"ReduceSum", "sum_1", {"f"}, {"t"}},
                {"Mul", "mul_1", {"s", "t"}, {"y"}}},
               {2, 3}, {{"w", {3, 4}, weights}});
}

// The same model twice, once with one weight 1 % off, and what else the tests need.
class Compare : public SuiteFolder<Compare> {
 public:
  static void make() {
    write(path("right.onnx"), softmax_model(1));
    write(path("wrong.onnx"), softmax_model(1.01F));
    write(path("other.onnx"), nonfinite_model());
    write(path("x.npy"), npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    write(path("other_x.npy"), npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.5F}));
    for (const char* name : {"right", "wrong"}) {
      const std::string run = std::string("run ") + name + ".onnx --full --slots in,out --out " + name;
      ASSERT_EQ(at(run + " --input x=x.npy").code, 0);
    }
    ASSERT_EQ(at("run right.onnx --full --input x=other_x.npy --out moved").code, 0);
    ASSERT_EQ(at("run right.onnx --input x=x.npy --out bare").code, 0);
    ASSERT_EQ(at("run other.onnx --full --input x=x.npy --out other").code, 0);
  }

 protected:
  static Json summary(const std::string& words) { return at(words + " --json").objects().back().at("summary"); }
};

TEST_F(Compare, EqualDumpsAreEqual) {
  const Done done = at("compare right right");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.out, AllOf(HasSubstr("0 not explained"), HasSubstr("verdict     equal"), Not(HasSubstr("born"))));
  EXPECT_LE(lines_of(done.out).size(), 10U);
  const Json answer = summary("compare right right");
  EXPECT_EQ(answer["paired"], answer["values_a"]);
  EXPECT_EQ(answer["verdicts"]["equal"], answer["values_b"]);
}

TEST_F(Compare, APlantedFaultIsBornInTheOnlyOpThatReadsIt) {
  const Done done = at("compare wrong right --all");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, AllOf(HasSubstr("born in     1 op: "), HasSubstr("first       "), HasSubstr("outside of the tolerance")));
  EXPECT_THAT(at("compare wrong right").out,
              AllOf(HasSubstr("different: first in "), Not(HasSubstr("born in")), Not(HasSubstr("found by"))));
  const Json answer = summary("compare wrong right");
  ASSERT_EQ(answer["born"].size(), 1U);
  EXPECT_THAT(answer["born"][0]["type"].get<std::string>(), HasSubstr("MatMul"));
  EXPECT_GT(answer["inherited"], 0);
  EXPECT_EQ(answer["first_outside"]["b"], answer["born"][0]["b"]);
}

TEST_F(Compare, OtherInputsAreNamedAndNoOpIsBlamed) {
  const Done done = at("compare moved right --all");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.out, AllOf(HasSubstr("given       1 of "), HasSubstr("born in     0 ops")));
}

TEST_F(Compare, ARunThatEndedEarlyIsNamedWithItsOp) {
  // What is added has a row, and then two where x has three.
  for (const int64_t rows : {1, 2}) {
    write(path(rows == 1 ? "fits.onnx" : "fails.onnx"),
          model({{"Neg", "neg_1", {"x"}, {"n"}}, {"Add", "add_1", {"n", "w"}, {"y"}}}, {-1, 3},
                {{"w", {rows, 3}, std::vector<float>(static_cast<size_t>(3 * rows), 1)}}));
  }
  write(path("tall.npy"), npy({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  ASSERT_EQ(at("run fits.onnx --full --input x=tall.npy --out whole").code, 0);
  ASSERT_EQ(at("run fails.onnx --full --input x=tall.npy --out cut").code, 3);
  EXPECT_THAT(at("compare cut whole").out, AllOf(HasSubstr("ended early A: op add_1 (Add) failed in step 0: "), Not(HasSubstr("early B"))));
  const Json answer = summary("compare whole cut");
  EXPECT_EQ(answer["ended_early_a"], nullptr);
  EXPECT_EQ(answer["ended_early_b"]["op"], "add_1");
  EXPECT_EQ(answer["ended_early_b"]["step"], 0);
  // What both computed before they failed is equal, and says nothing of what they would have computed.
  const Done both = at("compare cut cut");
  EXPECT_EQ(both.code, 3);
  EXPECT_THAT(both.out, AllOf(HasSubstr("unknown: what ran before the early end agrees"), HasSubstr("early B: op add_1")));
  std::filesystem::remove(path("cut/run.json"));
  EXPECT_THAT(at("compare cut whole").out, HasSubstr("ended early A: the capture did not come to its end; the last record is of "));
}

TEST_F(Compare, StatisticsAloneAreTolerated) {
  const Done done = at("compare bare right --json");
  EXPECT_EQ(done.code, 0) << done.said();
  for (const Json& one : done.objects()) {
    if (!one.contains("a") || one["given"] == true) continue;
    EXPECT_THAT(one["verdict"].get<std::string>(), testing::AnyOf("tolerated", "same statistics", "equal"));
  }
}

TEST_F(Compare, ATableShowsWhatIsAskedFor) {
  const auto values = [](const std::string& words) {
    std::vector<std::string> names;
    for (const Json& one : at("compare wrong right --json " + words).objects()) {
      if (one.contains("b")) names.push_back(one["b"]);
    }
    return names;
  };
  const auto all = values("");
  const auto differing = values("--only differing");
  EXPECT_LT(differing.size(), all.size());
  EXPECT_EQ(values("--only first").size(), 1U);
  EXPECT_EQ(values("--sort error --limit 2").size(), 2U);
  EXPECT_EQ(values("--limit 2"), std::vector<std::string>(all.begin(), all.begin() + 2));
  EXPECT_THAT(values("--ops floor"), ElementsAre(HasSubstr("floor_1")));
  std::vector<double> errors;
  for (const Json& one : at("compare wrong right --json --only differing --sort error").objects()) {
    if (one.contains("b")) errors.push_back(one["error"]);
  }
  EXPECT_TRUE(std::is_sorted(errors.rbegin(), errors.rend()));
  EXPECT_THAT(at("compare wrong right --only differing").out,
              AllOf(HasSubstr("relative L2"), HasSubstr("inherited"), Not(HasSubstr("floor_1"))));
}

TEST_F(Compare, RulesMapAndNoiseAreTaken) {
  write(path("loose.txt"), ".* 1 1\n");
  EXPECT_EQ(at("compare wrong right --tolerance loose.txt").code, 0);
  EXPECT_EQ(at("compare wrong right --noise wrong").code, 0);
  EXPECT_THAT(at("compare wrong right --noise wrong").out, HasSubstr("times the noise"));
  write(path("map.txt"), "softmax_1\tfloor_1\n");
  EXPECT_EQ(summary("compare right right --map map.txt")["rules"]["map"], 1);
}

TEST_F(Compare, CsvHasALineForEachPair) {
  ASSERT_EQ(at("compare right right --csv all.csv").code, 0);
  const auto own = lines_of(read(path("all.csv")));
  EXPECT_EQ(own.size(), 1 + summary("compare right right")["records"].get<size_t>());
  EXPECT_TRUE(own[0].starts_with("a,b,type_a,"));
  ASSERT_EQ(at("compare right right --csv msprobe.csv --csv-style msprobe").code, 0);
  const auto theirs = lines_of(read(path("msprobe.csv")));
  EXPECT_TRUE(theirs[0].starts_with("NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,")) << theirs[0];
  EXPECT_THAT(theirs.back(), HasSubstr(",pass,"));
}

TEST_F(Compare, WhatIsWrongIsSaidInOneSentence) {
  write(path("names.txt"), "sofmax_1\tfloor_1\n");
  write(path("rules.txt"), "conv 1 1\n");
  std::filesystem::create_directory(path("empty"));
  struct Row {
    std::string words;
    int code;
    std::string message;
  };
  const std::vector<Row> rows = {
      {"compare right", 2, "needs DUMP DUMP"},
      {"compare right nothing", 2, "nothing"},
      {"compare right empty", 2, "empty"},
      {"compare names.txt right", 2, "names.txt: a file, not a dump"},
      {"compare right names.txt", 2, "names.txt: a file, not a dump"},
      {"compare right right --noise nothing", 2, "nothing: no such dump"},
      {"compare right right --noise names.txt", 2, "names.txt: a file, not a dump"},
      {"compare right right --map names.txt", 2, "names.txt:1: nothing in A is called \"sofmax_1\". Did you mean \"softmax_1\"?"},
      {"compare right right --map missing.txt", 2, "missing.txt"},
      {"compare right right --tolerance rules.txt", 2, "rules.txt: the last line has to be for everything"},
      {"compare right right --steps x", 2, "--steps \"x\""},
      {"compare right right --ops (", 2, "--ops (: not a regular expression"},
      {"compare right right --only some", 2, "--only"},
      {"compare right right --csv-style msprobe", 2, "--csv"},
      {"compare right right --steps 7:8", 3, "no value could be paired"},
  };
  for (const Row& row : rows) {
    const Done done = at(row.words);
    EXPECT_EQ(done.code, row.code) << row.words << "\n" << done.said();
    EXPECT_THAT(done.err, HasSubstr(row.message)) << row.words;
    EXPECT_EQ(done.out, "") << row.words;
  }
}

TEST_F(Compare, RanksStandBesideRanks) {
  for (const char* job : {"job_a", "job_b"}) std::filesystem::create_directory(path(job));
  const auto place = [](const std::string& from, const std::string& to) {
    std::filesystem::copy(path(from), path(to), std::filesystem::copy_options::recursive);
  };
  place("right", "job_a/rank_0");
  place("wrong", "job_a/rank_1");
  place("wrong", "job_a/rank_2");
  place("right", "job_b/rank_0");
  place("right", "job_b/rank_1");
  const Done done = at("compare job_a/ job_b --json");
  EXPECT_EQ(done.code, 1) << done.said();
  EXPECT_THAT(done.err, AllOf(HasSubstr("job_a/rank_2"), HasSubstr("has no counterpart in job_b")));
  std::vector<std::string> parts;
  for (const Json& one : done.objects()) {
    if (one.contains("summary"))
      parts.push_back(one["part"].get<std::string>() + (one["summary"]["outside"] == true ? " differs" : " is equal"));
  }
  EXPECT_THAT(parts, ElementsAre("rank_0 is equal", "rank_1 differs"));
  EXPECT_EQ(at("compare job_b job_b").code, 0);
}

TEST_F(Compare, WhatCouldNotBeReadIsNoSuccess) {
  const auto copy_cut_to = [](const std::string& name, double share) {
    std::filesystem::copy(path("right"), path(name), std::filesystem::copy_options::recursive);
    const std::string archive = path(name) + "/tensors.npz";
    std::filesystem::resize_file(archive, static_cast<uintmax_t>(share * static_cast<double>(std::filesystem::file_size(archive))));
  };
  ASSERT_EQ(at("run right.onnx --describe --slots in,out --input x=x.npy --out described").code, 0);
  copy_cut_to("nothing_left", 0);
  copy_cut_to("half_left", 0.5);
  struct Row {
    std::string words;
    int code;
    std::string said;
    std::string verdict;
  };
  const std::vector<Row> rows = {
      {"compare nothing_left right", 3, "7 of 7 records could not be read, only statistics are compared; the first: A: w:out0: tensors.npz",
       "0 bit by bit; 5 same statistics"},
      {"compare right nothing_left", 3, "; the first: B: w:out0: tensors.npz", "0 bit by bit; 5 same statistics"},
      {"compare half_left right", 3, "a dump is damaged: the tensors of ", "unknown: what could be compared agrees, but "},
      {"compare half_left right --only differing", 3, " of 7 records could not be read", "same statistics"},
      {"compare described right", 3, "error: no pair of values could be compared; the first: neither data nor statistics of both",
       "nothing was comparable"}};
  for (const Row& row : rows) {
    const Done done = at(row.words);
    EXPECT_EQ(done.code, row.code) << row.words << "\n" << done.said();
    EXPECT_THAT(done.err, HasSubstr(row.said)) << row.words;
    EXPECT_THAT(done.out, AllOf(HasSubstr(row.verdict), Not(HasSubstr("largest relative L2")), Not(HasSubstr("are not equal"))))
        << row.words;
    const Json answer = summary(row.words);
    EXPECT_EQ(answer["unreadable"].get<uint64_t>() > 0, answer["judged"].get<uint64_t>() > 0) << row.words;
    EXPECT_EQ(answer["judged"].get<uint64_t>() + answer["verdicts"]["not comparable"].get<uint64_t>() +
                  answer["given"]["not comparable"].get<uint64_t>(),
              answer["records"].get<uint64_t>());
  }
  // A difference that was found is one whatever else is lost.
  EXPECT_EQ(at("compare half_left wrong").code, 1);
  EXPECT_EQ(at("compare nothing_left bare").code, 3) << "no tensor was asked for, but A lacks its own";
}

TEST_F(Compare, AnotherNumberOfElementsIsADifference) {
  write(path("open.onnx"), model({{"Floor", "floor_1", {"x"}, {"y"}}, {"Shape", "shape_1", {"y"}, {"z"}}}, {-1, 3}));
  write(path("two.npy"), npy({2, 3}, {1, 2, 3, 4, 5, 6}));
  write(path("three.npy"), npy({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  for (const std::string name : {"two", "three"}) {
    ASSERT_EQ(at("run open.onnx --full --slots in,out --as-written --input x=" + name + ".npy --out " + name).code, 0);
  }
  const Done done = at("compare two three");
  EXPECT_EQ(done.code, 1) << done.said();
  EXPECT_THAT(done.out, HasSubstr("with another number of elements"));
}

TEST_F(Compare, NothingInCommonIsAFailure) {
  const Done done = at("compare other right");
  EXPECT_EQ(done.code, 3) << done.said();
  EXPECT_THAT(done.err, HasSubstr("no value could be paired"));
}

}  // namespace
}  // namespace command
