// The overflow trigger on ONNX models: the op that made NaN or Inf, with what it read as it read it; and the ops that `find --suspects`
// proposes for a second capture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<float> kLarge = {1, 2, 3, 4, 400, 6};

// y = -exp(3 x + x), whose exponent the runtime would compute in the memory of its input.
std::string growing_model() {
  return model({{"Mul", "product", {"x", "three"}, {"m"}},
                {"Add", "sum", {"m", "x"}, {"a"}},
                {"Exp", "exponent", {"a"}, {"e"}},
                {"Neg", "negated", {"e"}, {"y"}}},
               {2, 3}, {{"three", {}, {3}}});
}

class OverflowWatch : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  }
  // Runs a model under the trigger; the dumped tensors by the names of their records.
  std::map<std::string, std::vector<float>> watch(const std::string& bytes, const std::vector<float>& x, int runs = 1,
                                                  const Json& changes = Json::object()) {
    fs::remove_all(folder_ / "dump");
    write(folder_ / "m.onnx", bytes);
    write(folder_ / "x.npy", npy({2, 3}, x));
    Json config = {{"trigger", "overflow"}, {"payload", "full"}, {"slots", {"in", "out"}}, {"out", folder_ / "dump"}};
    config.update(changes);
    write(folder_ / "config.json", config.dump());
    const Done done =
        tensortap("run m.onnx --input x=x.npy --config config.json --verify --json --runs " + std::to_string(runs), {folder_.path()});
    EXPECT_EQ(done.code, 0) << done.said();
    const Json summary = done.object();
    EXPECT_EQ(summary["identical"], true);
    EXPECT_EQ(summary["ops"]["captured"], summary["ops"]["expected"]) << "watched, if not written";
    std::map<std::string, std::vector<float>> found;
    for (const Json& record : tensortap("ls dump --json", {folder_.path()}).objects()) {
      const std::string name = record["op"].get<std::string>() + ":" + record["slot"].get<std::string>() + "@" + record["step"].dump();
      EXPECT_EQ(tensortap("show dump " + name + " --npy v.npy", {folder_.path()}).code, 0);
      EXPECT_TRUE(found.emplace(name, read_npy(folder_ / "v.npy").floats()).second) << "a value is written once: " << name;
    }
    return found;
  }
  static std::vector<std::string> names(const std::map<std::string, std::vector<float>>& found) {
    std::vector<std::string> all;
    for (const auto& [name, values] : found) all.push_back(name);
    return all;
  }
  static void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (std::isfinite(expected[i])) {
        EXPECT_NEAR(found[i] / expected[i], 1, 1e-5);
      } else {
        EXPECT_EQ(found[i], expected[i]);
      }
    }
  }
  template <typename Make>
  static std::vector<float> made(const std::vector<float>& x, const Make& make) {
    std::vector<float> values;
    for (const float value : x) values.push_back(make(value));
    return values;
  }
  toy::TempFolder folder_;
};

// A13
TEST_F(OverflowWatch, AnOpThatCouldWriteOverItsInputIsKeptWithIt) {
  const auto found = watch(growing_model(), kLarge);
  ASSERT_EQ(names(found), (std::vector<std::string>{"exponent:out0@0", "sum:out0@0"}));
  EXPECT_EQ(found.at("sum:out0@0"), made(kLarge, [](float x) { return x * 3 + x; }));
  expect_near(found.at("exponent:out0@0"), made(kLarge, [](float x) { return std::exp(x * 4); }));
}

// M10
TEST_F(OverflowWatch, OpsThatPassInfinityOnAreKeptWhereTheConfigAsksForAll) {
  const std::string passing = model({{"Exp", "exponent", {"x"}, {"e"}},
                                     {"Neg", "negated", {"e"}, {"n"}},
                                     {"Transpose", "turned", {"n"}, {"t"}},
                                     {"Clip", "clipped", {"t", "low", "high"}, {"y"}}},
                                    {2, 3}, {{"low", {}, {-9}}, {"high", {}, {9}}});
  const auto found = watch(passing, kLarge, 2, {{"overflow_ops", "all"}});
  ASSERT_EQ(names(found), (std::vector<std::string>{"exponent:out0@0", "exponent:out0@1", "negated:out0@0", "negated:out0@1",
                                                    "turned:out0@0", "turned:out0@1", "x:out0@0", "x:out0@1"}))
      << "what moves values, too, in every step; the last op gives finite values";
  expect_near(found.at("turned:out0@1"), made({1, 4, 2, 400, 3, 6}, [](float x) { return -std::exp(x); }));
}

TEST_F(OverflowWatch, WeightsAndInputsOfTheModelComeAlong) {
  const std::vector<float> x = {1, 2, 3, 4, 3e38F, 6};
  const auto found = watch(growing_model(), x);
  ASSERT_EQ(names(found), (std::vector<std::string>{"product:out0@0", "three:out0@0", "x:out0@0"}));
  EXPECT_EQ(found.at("x:out0@0"), x);
  EXPECT_EQ(found.at("three:out0@0"), std::vector<float>{3});
}

TEST_F(OverflowWatch, WhatIsFiniteAndWhatCameInLeavesNothing) {
  EXPECT_THAT(watch(growing_model(), {1, 1, 1, 1, 1, 1}), IsEmpty());
  EXPECT_THAT(watch(growing_model(), std::vector<float>(6, std::nanf(""))), IsEmpty()) << "an input that is not finite is nobody's fault";
}

TEST_F(OverflowWatch, EveryStepIsWatchedUpToTheLimit) {
  EXPECT_EQ(names(watch(growing_model(), kLarge, 3)),
            (std::vector<std::string>{"exponent:out0@0", "exponent:out0@1", "exponent:out0@2", "sum:out0@0", "sum:out0@1", "sum:out0@2"}));
  for (const int limit : {1, 2}) {
    int kept = 0;
    for (const std::string& name : names(watch(growing_model(), kLarge, 3, {{"limits", {{"max_triggers", limit}}}}))) {
      kept += name.starts_with("exponent") ? 1 : 0;
    }
    EXPECT_EQ(kept, limit);
  }
}

TEST_F(OverflowWatch, AValueThatTwoSuchOpsReadIsWrittenOnce) {
  const std::string twice = model({{"Add", "sum", {"x", "x"}, {"a"}},
                                   {"Exp", "exponent", {"a"}, {"e"}},
                                   {"Mul", "square", {"a", "a"}, {"s"}},
                                   {"Add", "last", {"e", "s"}, {"y"}}});
  const std::vector<float> x = {1, 2, 3, 4, 1e30F, 6};
  const auto found = watch(twice, x);
  ASSERT_EQ(names(found), (std::vector<std::string>{"exponent:out0@0", "square:out0@0", "sum:out0@0"}));
  EXPECT_EQ(found.at("sum:out0@0"), made(x, [](float value) { return value + value; }));
}

// --- suspects -------------------------------------------------------------------------------------------------------------------------

// A17: statistics of a model that divides by zero after values grew, with a part that is dead.
class Suspects : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
    write(folder_ / "model.onnx", model({{"Neg", "neg (1)", {"x"}, {"n"}},
                                         {"Pow", "grow", {"n", "five"}, {"p"}},
                                         {"Mul", "net/mul+1", {"p", "large"}, {"g"}},
                                         {"Min", "plain", {"n", "low"}, {"m"}},
                                         {"Relu", "dead", {"m"}, {"r"}},
                                         {"Ceil", "zero", {"r"}, {"c"}},
                                         {"Div", "divide", {"g", "c"}, {"d"}},
                                         {"Floor", "after", {"d"}, {"y"}}},
                                        {2, 3}, {{"large", {1}, {1e5F}}, {"low", {1}, {-1e9F}}, {"five", {}, {5}}}));
    write(folder_ / "x.npy", npy({2, 3}, {1, 2, 3, 4, 5, 6}));
    const Done done = at("run model.onnx --input x=x.npy --stats --optimize none --out dump");
    ASSERT_EQ(done.code, 0) << done.said();
  }
  Done at(const std::string& words) { return tensortap(words, {folder_.path()}); }
  toy::TempFolder folder_;
};

TEST_F(Suspects, AreOriginsTheirProducersAndDeadOutputs) {
  const Done done = at("find dump --suspects --json");
  EXPECT_EQ(done.code, 1);
  const Json answer = done.object();
  std::map<std::string, std::string> found;
  Json names = Json::array();
  for (const Json& one : answer["suspects"]) {
    found[one["op"]] = one["reasons"].dump();
    names.push_back(one["op"]);
  }
  EXPECT_THAT(found["divide"], HasSubstr("made NaN or Inf of finite values"));
  EXPECT_THAT(found["zero"], AllOf(HasSubstr("made what \\\"divide\\\" read"), Not(HasSubstr("dead")))) << "it read zeros";
  EXPECT_THAT(found["dead"], HasSubstr("dead"));
  EXPECT_THAT(found["net/mul+1"], HasSubstr("made what \\\"divide\\\" read"));
  EXPECT_THAT(found["grow"], HasSubstr("a thousand times larger"));
  for (const char* fine : {"after", "neg (1)", "x"}) EXPECT_FALSE(found.contains(fine)) << fine;
  EXPECT_EQ(answer["config"]["include"], names);
}

TEST_F(Suspects, AreWhatTheProposedConfigOfEveryDialectPicks) {
  const Json suspects = at("find dump --suspects --json").object()["suspects"];
  for (const std::string dialect : {"tensortap", "acl", "mindspore"}) {
    const std::string file = dialect + ".json";
    const Done done = at("find dump --suspects --dialect " + dialect + " --config-out " + file);
    EXPECT_EQ(done.code, 1) << done.said();
    EXPECT_THAT(done.out, HasSubstr(file));
    const Done explained = at("explain " + file + " --model model.onnx --json");
    ASSERT_EQ(explained.code, 0) << explained.said();
    const std::string ops = explained.object()["ops"].dump();
    for (const Json& one : suspects) EXPECT_THAT(ops, HasSubstr(one["op"].dump())) << dialect;
    EXPECT_THAT(ops, Not(HasSubstr("\"after\"")));
  }
  // The proposed config runs and keeps inputs and outputs whole.
  EXPECT_EQ(at("run model.onnx --config tensortap.json --input x=x.npy --optimize none --out second").code, 0);
  EXPECT_THAT(at("show second divide:out0").out, HasSubstr("inf"));
}

TEST_F(Suspects, AreNotMadeUp) {
  write(folder_ / "fine.onnx", model({{"Neg", "neg", {"x"}, {"y"}}}));
  ASSERT_EQ(at("run fine.onnx --input x=x.npy --out fine").code, 0);
  const Done done = at("find fine --suspects --config-out c.json");
  EXPECT_EQ(done.code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "c.json"));
  EXPECT_THAT(done.out, HasSubstr("no op stands out"));
  const Done unknown = at("find dump --suspects --dialect torch");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("tensortap, acl, mindspore and torchair"));
}

}  // namespace
}  // namespace command
