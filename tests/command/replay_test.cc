// `tensortap replay` and `compare --replay`: small models on the runtime that made their dumps, options and what is wrong with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Replay : public SuiteFolder<Replay> {
 public:
  static void make() {
    write(path("m.onnx"), model({{"MatMul", "matmul_1", {"x", "w"}, {"a"}}, {"Softmax", "softmax_1", {"a"}, {"y"}}}, {2, 3},
                                {{"w", {3, 4}, small_weights()}}));
    write(path("x.npy"), npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    ASSERT_EQ(at("run m.onnx --full --slots in,out --input x=x.npy --runs 2 --out dump").code, 0);
    ASSERT_EQ(at("run m.onnx --full --input x=x.npy --out outputs").code, 0);
    ASSERT_EQ(at("run m.onnx --input x=x.npy --out bare").code, 0);
  }

 protected:
  // A copy of the dump in which one text of a file is another.
  static std::string changed(const std::string& name, const std::string& file, const std::string& from, const std::string& to) {
    std::filesystem::copy(path("dump"), path(name), std::filesystem::copy_options::recursive);
    std::string text = read(path(name + "/" + file));
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(path(name + "/" + file), text.replace(at, from.size(), to));
    return name;
  }
};

TEST_F(Replay, GivesTheSameBitsOnTheSameRuntime) {
  const Done done = at("replay dump");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.out, AllOf(HasSubstr("replayed      4 ops, 4 outputs"), HasSubstr("4 bit by bit; 0 differ")));
  const Json summary = at("replay dump --json").objects().back().at("summary");
  EXPECT_EQ(summary["equal"], 4);
  EXPECT_EQ(summary["runtime"], summary["recorded"]);
}

TEST_F(Replay, TakesWhatWasReadFromProducersWhereInputsWereNotKept) {
  EXPECT_EQ(at("replay outputs --json").objects().back()["summary"]["equal"], 2);
}

TEST_F(Replay, RunsOneOpOfOneStep) {
  const auto lines = at("replay dump softmax_1@1 --json").objects();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["record"], "softmax_1:out0@1");
  EXPECT_EQ(lines[0]["bit_equal"], true);
  EXPECT_EQ(at("replay dump softmax_1 --json").objects().size(), 3U);
  const Done unknown = at("replay dump softmax_2");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean \"softmax_1\"?"));
}

// B11
TEST_F(Replay, FindsAnOpThatComputesSomethingElse) {
  const std::string other = changed("other", "ops.jsonl", "\"type\": \"Softmax\"", "\"type\": \"LogSoftmax\"");
  const Done done = at("replay " + other + " --json");
  EXPECT_EQ(done.code, 1);
  const Json summary = done.objects().back()["summary"];
  EXPECT_EQ(summary["equal"], 2);
  EXPECT_EQ(summary["kernels"][0]["type"], "LogSoftmax");
  EXPECT_EQ(summary["kernels"][0]["outputs"], 2);
  const Done text = at("replay " + other);
  EXPECT_THAT(text.out, AllOf(HasSubstr("kernels       2 LogSoftmax"), HasSubstr("softmax_1:out0")));
}

TEST_F(Replay, ListsWhatTheRuntimeDoesNotTakeAndRunsTheRest) {
  const std::string other = changed("unknown_type", "ops.jsonl", "\"type\": \"Softmax\"", "\"type\": \"Strange\"");
  const Done done = at("replay " + other + " --json");
  EXPECT_EQ(done.code, 3) << "a file of the dump is another one: nothing is cleared";
  const Json summary = done.objects().back()["summary"];
  EXPECT_EQ(summary["equal"], 2);
  EXPECT_EQ(summary["not_replayed"], 2);
  EXPECT_THAT(summary["reasons"][0]["reason"].get<std::string>(), HasSubstr("Strange"));
}

TEST_F(Replay, SaysWhyNothingCanBeReplayed) {
  for (const auto& [words, message] :
       std::vector<std::pair<std::string, std::string>>{{"replay bare", "--full"}, {"replay dump --runtime /nowhere", "/nowhere"}}) {
    const Done done = at(words);
    EXPECT_EQ(done.code, 3) << done.said();
    EXPECT_THAT(done.said(), HasSubstr(message));
  }
  EXPECT_EQ(at("replay").code, 2);
  EXPECT_EQ(at("replay nowhere").code, 2);
  EXPECT_EQ(at("replay dump softmax_1 --all").code, 2);
}

TEST_F(Replay, WritesAnOpForOthers) {
  EXPECT_EQ(at("replay dump softmax_1 --emit op.txt").code, 2);
  EXPECT_EQ(at("replay dump --emit op.py").code, 2);
  ASSERT_EQ(at("replay dump softmax_1@1 --emit op/model.onnx").code, 0);
  EXPECT_EQ(names_in(path("op/test_data_set_0")), (std::vector<std::string>{"input_0.pb", "output_0.pb"}));
  const Done there = at("replay dump softmax_1 --emit op/model.onnx");
  EXPECT_EQ(there.code, 2);
  EXPECT_THAT(there.err, HasSubstr("already exists"));
  EXPECT_EQ(at("replay bare softmax_1 --emit bare.py").code, 3);
  EXPECT_FALSE(std::filesystem::exists(path("bare.npz")));
}

// What is left of each tensor: [slot, first, count].
Json parts_of(const Json& minimal) {
  Json parts = Json::array();
  for (const Json& tensor : minimal["tensors"]) parts.push_back({tensor["slot"], tensor["first"], tensor["count"]});
  return parts;
}

// Of x * w as recorded and x + w as replayed one element differs: where x is 1 and w is 0.
TEST_F(Replay, KeepsTheOneElementThatDiffers) {
  write(path("mul.onnx"), model({{"Mul", "mul_1", {"x", "w"}, {"y"}}}, {4, 6}, {{"w", {6}, {0, 0, 0, 0, 0, 0}}}));
  std::vector<float> values(24, 0);
  values[2 * 6 + 3] = 1;
  write(path("ones.npy"), npy({4, 6}, values));
  ASSERT_EQ(at("run mul.onnx --full --slots in,out --input x=ones.npy --out mul --as-written").code, 0);
  EXPECT_THAT(at("replay mul mul_1 --minimize").out, HasSubstr("every bit comes out equal"));
  const std::string text = read(path("mul/ops.jsonl"));
  const std::string from = "\"type\": \"Mul\"";
  write(path("mul/ops.jsonl"), std::string(text).replace(text.find(from), from.size(), "\"type\": \"Add\""));
  const Done done = at("replay mul mul_1 --minimize --json --emit one/op.onnx");
  EXPECT_EQ(done.code, 1) << done.said();
  const Json minimal = done.object();
  EXPECT_EQ(parts_of(minimal), Json::parse(R"([["in0", [2, 3], [1, 1]], ["in1", [3], [1]], ["out0", [2, 3], [1, 1]]])"));
  EXPECT_EQ(minimal["differing"], 1);
  EXPECT_EQ(minimal["compared"], 1);
  EXPECT_EQ(minimal["max_abs"], 1);
  ASSERT_EQ(minimal["files"].size(), 3U);
  // The files contain that part: by itself it gives the sum.
  ASSERT_EQ(at("run one/op.onnx --full --inputs one/test_data_set_0 --out one_run").code, 0);
  ASSERT_EQ(at("convert one_run one_npy --to npy").code, 0);
  const auto made = files_like(path("one_npy"), ".*Add\\..*output\\.0.*npy");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(read_npy(path("one_npy/" + made[0])).floats(), std::vector<float>{1});
  EXPECT_THAT(at("replay mul mul_1 --minimize").out,
              AllOf(HasSubstr("in0           [1,1] from [2,3] on, of [4,6]"), HasSubstr("1 of 1 elements of out0, by 1 at most")));
}

TEST_F(Replay, CutsTheFactorsOfAProduct) {
  write(path("gemm.onnx"),
        model({{"Gemm", "gemm_1", {"x", "w", "b"}, {"y"}}}, {2, 3}, {{"w", {3, 4}, small_weights()}, {"b", {4}, small_bias()}}));
  ASSERT_EQ(at("run gemm.onnx --full --slots in,out --input x=x.npy --out gemm --as-written").code, 0);
  const std::string text = read(path("gemm/ops.jsonl"));
  const std::string from = "{\"graph_outputs\"";
  ASSERT_NE(text.find(from), std::string::npos) << text;
  write(path("gemm/ops.jsonl"), std::string(text).replace(text.find(from), from.size(), "{\"alpha\": 2.0, \"graph_outputs\""));
  const Json minimal = at("replay gemm gemm_1 --minimize --json").object();
  EXPECT_EQ(parts_of(minimal),
            Json::parse(R"([["in0", [0, 0], [1, 3]], ["in1", [0, 0], [3, 1]], ["in2", [0], [1]], ["out0", [0, 0], [1, 1]]])"));
}

TEST_F(Replay, RefusesToCutWhatCannotBe) {
  for (const auto& [words, code, message] :
       std::vector<std::tuple<std::string, int, std::string>>{{"replay dump --minimize", 2, "--minimize requires op"},
                                                              {"replay dump softmax_2 --minimize", 2, "softmax_1"},
                                                              {"replay bare softmax_1 --minimize", 3, "softmax_1"},
                                                              {"replay dump softmax_1 --minimize --emit op.txt", 2, ".py or .onnx"},
                                                              {"replay dump softmax_1 --minimize --emit m.onnx", 2, "already exists"}}) {
    const Done done = at(words);
    EXPECT_EQ(done.code, code) << words << done.said();
    EXPECT_THAT(done.err, HasSubstr(message));
    EXPECT_THAT(done.out, testing::IsEmpty());
  }
  const Done refused = at("replay unknown_type softmax_1 --minimize");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("Strange"));
}

TEST_F(Replay, LoadsNoOtherLibraryThatADumpNames) {
  const std::string source = read(path("dump/run.json"));
  const Json facts = Json::parse(source)["runtime"];
  const std::string name = facts["library"].get<std::string>();
  write(path("evil.so"), "not loaded");
  const Done done = at("replay " + changed("evil", "run.json", name, path("evil.so")));
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.err, HasSubstr("is not called as ONNX Runtime is"));
  EXPECT_EQ(facts["opset"]["ai.onnx"].get<int64_t>() > 0, true);
}

TEST_F(Replay, GivesEachOpOfAComparisonItsOwnError) {
  const auto lines = at("compare dump dump --replay --json").objects();
  const Json replay = lines.back()["summary"]["replay"];
  EXPECT_EQ(replay["equal"], 4);
  for (const Json& line : lines) {
    if (line.contains("a") && line["given"] == false) {
      EXPECT_EQ(line["own"]["outcome"], "equal") << line;
    }
  }
  EXPECT_THAT(at("compare dump dump --replay").out,
              AllOf(HasSubstr("replay      4 of 4 outputs of A come out equal"), Not(HasSubstr("no kernel changed"))));
  write(path("other.npy"), npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, 0.75F}));
  ASSERT_EQ(at("run m.onnx --full --slots in,out --input x=other.npy --runs 2 --out other_input").code, 0);
  EXPECT_THAT(at("compare dump other_input --replay").out, HasSubstr("no kernel changed"));
  ASSERT_EQ(at("compare dump dump --replay --csv table.csv").code, 0);
  EXPECT_THAT(lines_of(read(path("table.csv")))[0], HasSubstr(",own,own_relative_l2,own_max_abs"));
  EXPECT_EQ(at("compare bare bare --replay").code, 3);
  EXPECT_EQ(at("compare dump dump --runtime x").code, 2);
}

}  // namespace
}  // namespace command
