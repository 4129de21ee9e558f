#include "system/msit/config/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "system/msit/config/rounds.h"
#include "tensor/tensor_stats.h"

namespace tensortap::msit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A config that is switched on, with these members besides.
std::string config_of(Json members) {
  members["dump_enable"] = "true";
  return members.dump(1);
}

PlanEnvironment with_modules() {
  PlanEnvironment environment;
  environment.modules = true;
  return environment;
}

CaptureSpec spec_of(const std::string& text) {
  Result<CaptureSpec> spec = parse_config(text, "m.json", {});
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *std::move(spec) : CaptureSpec();
}

std::string error_of(const std::string& text) {
  const Result<CaptureSpec> spec = parse_config(text, "m.json", {});
  EXPECT_FALSE(spec.ok()) << text;
  return spec.status().message();
}

// An op at a place of the tree, with a type.
OpInfo op_at(const std::string& id, const std::string& type, Level level = Level::kOp) {
  OpInfo op;
  op.name = concat("op", id);
  op.id = id;
  op.type = type;
  op.level = level;
  return op;
}

// Ids of the operations that a config picks out of a small tree.
std::vector<std::string> picked(const Json& members) {
  const std::vector<OpInfo> tree = {op_at("2", "Layer", Level::kModule),
                                    op_at("3", "Layer", Level::kModule),
                                    op_at("3_1", "Linear", Level::kModule),
                                    op_at("3_1_0", "mm"),
                                    op_at("3_10", "relu"),
                                    op_at("30", "Norm", Level::kModule),
                                    op_at("31", "linear_add")};
  auto plan = CapturePlan::compile(spec_of(config_of(members)), with_modules());
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::vector<std::string> ids;
  for (const OpInfo& op : tree) {
    if ((*plan)->decide(op).wanted) ids.push_back(op.id);
  }
  return ids;
}

TEST(MsitDialect, CapturesRoundZeroInFullUnlessToldOtherwise) {
  const CaptureSpec spec = spec_of(R"({"dump_enable": "true", "ids": "", "child": "true", "er": "0,0", "device": ""})");
  EXPECT_THAT(spec.notes, IsEmpty());
  EXPECT_EQ(spec.layout, "msit");
  EXPECT_TRUE(spec.include.empty());
  EXPECT_TRUE(spec.inputs && spec.outputs);
  EXPECT_EQ(spec.payload, Payload::kTensor);
  EXPECT_EQ(spec.moment, MomentChoice::kInBeforeOutAfter);
  EXPECT_EQ(spec.steps.to_text(), "0");
  EXPECT_THAT(spec.levels, ElementsAre("op", "module"));
  EXPECT_TRUE(CapturePlan::compile(spec, with_modules()).ok());
}

// L7, L6, L9, L3: MS 1.1, MS 1.5
TEST(MsitDialect, TranslatesEveryKey) {
  const CaptureSpec spec = spec_of(config_of({{"er", "1,2"},
                                              {"device", "0,3"},
                                              {"opname", "Linear,mm"},
                                              {"time", "2"},
                                              {"stp", "0"},
                                              {"sd", "true"},
                                              {"symlink", "true"},
                                              {"type", "tensor,kernel"},
                                              {"output", "/d"}}));
  EXPECT_EQ(spec.steps.to_text(), "1-2");
  EXPECT_THAT(spec.devices, ElementsAre(0U, 3U));
  ASSERT_EQ(spec.include.size(), 2U);
  EXPECT_EQ(spec.include[0].text, "linear");
  EXPECT_EQ(spec.moment, MomentChoice::kBoth);
  EXPECT_FALSE(spec.outputs);
  EXPECT_EQ(spec.payload, Payload::kDescription);
  EXPECT_EQ(spec.layout_options.at("links"), "true");
  EXPECT_EQ(spec.layout_options.at("tables"), "kernel");
  EXPECT_THAT(spec.levels, ElementsAre("op", "module", "kernel"));
  EXPECT_EQ(spec.out, "/d");
  EXPECT_EQ(spec_of(config_of({{"time", "0"}})).moment, MomentChoice::kBefore);
  EXPECT_EQ(spec_of(config_of({{"time", "1"}})).moment, MomentChoice::kAfter);
  EXPECT_FALSE(spec_of(config_of({{"stp", "1"}})).inputs);
}

// L2, L3: statistics go before a description and before data, and need the type tensor.
TEST(MsitDialect, KeepsOfATensorWhatTheTypesSay) {
  const CaptureSpec statistics = spec_of(config_of({{"type", "tensor,stats"}, {"sd", "true"}}));
  EXPECT_EQ(statistics.payload, Payload::kStatistics);
  EXPECT_EQ(statistics.stats, uint32_t{kStatMin | kStatMax | kStatMean | kStatL2});
  EXPECT_TRUE(spec_of(config_of({{"type", "stats"}})).steps.is_never());
  EXPECT_EQ(spec_of(config_of({{"type", "kernel,tensor,op"}})).layout_options.at("tables"), "op,kernel");
  EXPECT_TRUE(spec_of(config_of({{"sd", "true"}})).payload == Payload::kDescription);
}

// L2, L17: MS 3.8. Root operations are described for either word.
// L18: of operations whose times alone are asked for nothing is looked at.
TEST(MsitDialect, AsksForTimesWithoutTensors) {
  const CaptureSpec alone = spec_of(config_of({{"type", "cpu_profiling"}}));
  EXPECT_FALSE(alone.steps.is_never());
  EXPECT_EQ(alone.layout_options.at("times"), "true");
  EXPECT_EQ(alone.layout_options.at("tensors"), "false");
  EXPECT_TRUE(alone.notes.empty());
  EXPECT_THAT(alone.levels, ElementsAre("op", "module"));
  ASSERT_EQ(alone.exclude.size(), 1U);
  EXPECT_EQ(alone.exclude[0].text, "op");
  EXPECT_TRUE(spec_of(config_of({{"type", "tensor,cpu_profiling"}})).exclude.empty());
  EXPECT_FALSE(spec_of(config_of({{"type", "tensor"}})).layout_options.contains("times"));
}

// L8: kernels are looked at, and have no other files than these unless that is asked for.
TEST(MsitDialect, AsksHowKernelsWereLaunched) {
  const CaptureSpec spec = spec_of(config_of({{"tiling", "true"}}));
  EXPECT_EQ(spec.layout_options.at("tiling"), "true");
  EXPECT_EQ(spec.layout_options.at("kernels"), "false");
  EXPECT_THAT(spec.levels, ElementsAre("op", "module", "kernel"));
  EXPECT_TRUE(spec.notes.empty());
  EXPECT_FALSE(spec_of(config_of({{"tiling", "true"}, {"type", "kernel,tensor"}})).layout_options.contains("kernels"));
  EXPECT_TRUE(spec_of(config_of({{"tiling", "true"}, {"type", "cpu_profiling"}})).exclude.empty());
  EXPECT_FALSE(spec_of(config_of({{"tiling", "true"}, {"type", "stats"}})).steps.is_never());
  EXPECT_FALSE(spec_of(config_of({{"type", "tensor"}})).layout_options.contains("tiling"));
}

TEST(MsitDialect, OfAnOnnxModelTopologyAndTypesAreNeeded) {
  const CaptureSpec spec = spec_of(config_of({{"type", "onnx"}}));
  EXPECT_EQ(spec.layout_options.at("onnx"), "true");
  EXPECT_EQ(spec.layout_options.at("topology"), "layer,model");
  EXPECT_EQ(spec.layout_options.at("tables"), "op");
  EXPECT_EQ(spec.layout_options.at("tensors"), "false");
  EXPECT_TRUE(spec.notes.empty());
  EXPECT_FALSE(spec_of(config_of({{"type", "model"}})).layout_options.contains("onnx"));
}

TEST(MsitDialect, DescribesTheModelWithoutTensors) {
  const CaptureSpec model = spec_of(config_of({{"type", "model"}, {"stp", "1"}}));
  EXPECT_EQ(model.layout_options.at("topology"), "layer,model");
  EXPECT_EQ(model.layout_options.at("tensors"), "false");
  EXPECT_EQ(model.payload, Payload::kDescription);
  EXPECT_TRUE(model.inputs && model.outputs) << "edges need both";
  EXPECT_EQ(model.steps.to_text(), "0");
  EXPECT_EQ(spec_of(config_of({{"type", "layer"}})).layout_options.at("topology"), "layer");
  EXPECT_FALSE(spec_of(config_of({{"type", "tensor,model"}})).layout_options.contains("tensors"));
}

// L4, L7: MS 2.1, MS 2.5
TEST(MsitDialect, PicksByIdsOrByTheBeginningOfTheType) {
  EXPECT_THAT(picked({{"ids", "3"}}), ElementsAre("3", "3_1", "3_1_0", "3_10"));
  EXPECT_THAT(picked({{"ids", "3_1"}}), ElementsAre("3_1", "3_1_0"));
  EXPECT_THAT(picked({{"ids", "3"}, {"child", "false"}}), ElementsAre("3"));
  EXPECT_THAT(picked({{"ids", "2, 3_1"}, {"child", "false"}}), ElementsAre("2", "3_1"));
  EXPECT_THAT(picked({{"opname", "Linear"}}), ElementsAre("3_1", "31"));
  EXPECT_THAT(picked({{"opname", "linearadd,mmoperation"}}), ElementsAre("3_1_0", "31"));
  EXPECT_THAT(picked({{"ids", "2"}, {"opname", "norm"}}), ElementsAre("2", "30"));
  EXPECT_THAT(picked({{"child", "false"}}), ElementsAre("2", "3", "30", "31"));
  EXPECT_THAT(picked(Json::object()), ElementsAre("2", "3", "3_1", "3_1_0", "3_10", "30", "31"));
  EXPECT_THAT(picked({{"ids", "99"}}), IsEmpty());
}

TEST(MsitDialect, ComesThroughTheNativeFormAsItIs) {
  CaptureSpec spec = spec_of(config_of({{"ids", "2,3_1"}, {"opname", "linear"}, {"er", "0,1,4,5"}, {"device", "1"}}));
  const Result<CaptureSpec> again = spec_from_json(spec_to_json(spec).dump(), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, spec);
}

// MS 2.2
TEST(MsitDialect, PassesOverWhatMsitPassesOverAndSaysSo) {
  struct Row {
    std::string text;
    std::string note;
  };
  const std::vector<Row> rows = {
      {R"({"dump_enable": true})", "m.json:1:2: dump_enable: must be a text, not true, and is passed over; write it in quotes"},
      {R"({"dump_enable": "True"})", "\"True\" is not \"true\", and so counts as \"false\""},
      {R"({"dump_enable": "true", "er": 3})", "er: must be a text, not a number"},
      {R"({"dump_enable": "true", "idss": "3"})", "idss: unknown key; ignored, as in msit. Did you mean \"ids\"?"},
      {R"({"dump_enable": "true", "er": "1"})", "m.json:1:25: er: rounds come in pairs"},
      {R"({"dump_enable": "true", "child": "no"})", "\"no\" is not \"true\""},
      {R"({"ids": "2"})", "without \"dump_enable\": \"true\" nothing is captured"},
      {R"({"dump_enable": "true", "type": "stats"})",
       "type: nothing is written without one of tensor, model, layer, op, kernel, cpu_profiling"},
      {R"({"dump_enable": "false", "dump_enable": "true"})", "the key \"dump_enable\" appears twice"},
  };
  for (const Row& row : rows) {
    const CaptureSpec spec = spec_of(row.text);
    ASSERT_EQ(spec.notes.size(), 1U) << row.text << join(spec.notes, "\n");
    EXPECT_THAT(spec.notes[0], HasSubstr(row.note)) << row.text;
  }
  EXPECT_TRUE(spec_of(R"({"dump_enable": "True"})").steps.is_never());
  EXPECT_TRUE(spec_of(R"({"ids": "2"})").steps.is_never());
  EXPECT_EQ(spec_of(R"({"dump_enable": "true", "er": 3})").steps.to_text(), "0");
  EXPECT_TRUE(spec_of(config_of({{"er", "1"}})).steps.is_never());
}

TEST(MsitDialect, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("{\"dump_enable\": \"true\",\n \"ids\": \"3_\"}"),
            "m.json:2:2: ids: \"3_\" is not an id; write numbers joined by _, such as \"2,3_1\"");
  EXPECT_THAT(error_of(config_of({{"er", "1-2"}})), HasSubstr("\"1-2\" names no rounds; write pairs of numbers"));
  EXPECT_THAT(error_of(config_of({{"device", "a"}})), HasSubstr("\"a\" is no number of a device"));
  EXPECT_THAT(error_of(config_of({{"time", "4"}})), HasSubstr("\"4\" is not one of \"0\", \"1\", \"2\" or \"3\""));
  EXPECT_THAT(error_of(config_of({{"stp", "3"}})), HasSubstr("\"3\" is not one of \"0\", \"1\" or \"2\""));
  EXPECT_THAT(error_of(config_of({{"type", "trace"}})), HasSubstr("\"trace\" is not one of \"model\", \"layer\""));
  EXPECT_THAT(error_of("[1]"), HasSubstr("must be an object, not a list"));
}

// MS 2.1
TEST(Rounds, AreTheOnesThatMsitKeeps) {
  struct Row {
    std::string text;
    std::string kept;
    std::string note;
  };
  const std::vector<Row> rows = {
      {"0,0", "0", ""},
      {"0,1", "0-1", ""},
      {"0,1,5,7", "0-1,5-7", ""},
      {"all", "all", ""},
      {"2,1", "", "\"2,1\" is the wrong way round"},
      {"1", "", "\"1\" has no partner and is dropped, so that no round is kept; write \"1,1\""},
      {"0,2,5", "0-2", "\"5\" has no partner and is dropped; write \"5,5\""},
      {",3", "0-3", ""},
      {"0,1,", "0-1", ""},
      {"none", "", ""},
      {"", "", ""},
      {"5,99999999999999999999", "5-9223372036854775806", ""},
  };
  for (const Row& row : rows) {
    const Rounds rounds = parse_rounds(row.text);
    EXPECT_TRUE(rounds.valid) << row.text;
    EXPECT_EQ(rounds.steps.is_never() ? "" : rounds.steps.to_text(), row.kept) << row.text;
    EXPECT_THAT(rounds.note, row.note.empty() ? testing::Eq("") : testing::Matcher<std::string>(HasSubstr(row.note))) << row.text;
  }
}

TEST(Rounds, OtherTextIsNone) {
  for (const char* text : {"x", "1-2", "-1,2", "0, 1", "All", "0,none", "1.5,2"}) EXPECT_FALSE(parse_rounds(text).valid) << text;
}

TEST(Rounds, KeepWhatALoopOverThePairsKeeps) {
  std::mt19937 random(7);
  for (int run = 0; run < 300; ++run) {
    std::vector<int> numbers(random() % 7);
    std::vector<std::string> pieces;
    for (int& number : numbers) {
      number = static_cast<int>(random() % 12);
      pieces.push_back(std::to_string(number));
    }
    std::set<int> kept;
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
      for (int round = numbers[i]; round <= numbers[i + 1]; ++round) kept.insert(round);
    }
    const Rounds rounds = parse_rounds(join(pieces, ","));
    for (int round = 0; round < 14; ++round)
      EXPECT_EQ(rounds.steps.contains(round), kept.contains(round)) << join(pieces, ",") << " " << round;
  }
}

}  // namespace
}  // namespace tensortap::msit
