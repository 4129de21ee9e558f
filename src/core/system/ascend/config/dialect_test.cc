#include "system/ascend/config/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "plan/spec_keys.h"

namespace tensortap::ascend {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string at_tmp(std::string_view members) { return concat(R"({"dump": {"dump_path": "/tmp", )", members, "}}"); }

CaptureSpec acl_spec(const std::string& text) {
  const Result<CaptureSpec> spec = parse_config(text, "acl.json", {});
  EXPECT_TRUE(spec.ok()) << text << "\n" << spec.status().message();
  if (!spec.ok()) return {};
  // It reaches a source as JSON.
  CaptureSpec silent = *spec;
  silent.notes.clear();
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(silent)), "again");
  EXPECT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again.ok() ? *again : CaptureSpec(), silent);
  EXPECT_TRUE(CapturePlan::compile(*spec).ok()) << CapturePlan::compile(*spec).status().message();
  return *spec;
}

std::vector<std::string> selectors_of(const std::vector<OpSelector>& selectors) {
  std::vector<std::string> texts;
  for (OpSelector selector : selectors) {
    EXPECT_TRUE(selector.optional);
    selector.origin.clear();
    std::string text = selector_text(selector);
    for (const uint32_t slot : selector.input_slots) text += concat(" in", slot);
    for (const uint32_t slot : selector.output_slots) text += concat(" out", slot);
    texts.push_back(std::move(text));
  }
  return texts;
}

uint32_t bits_of(std::initializer_list<std::string_view> names) {
  uint32_t bits = 0;
  for (const std::string_view name : names) EXPECT_TRUE(stat_from_name(name, bits)) << name;
  return bits;
}

// A3
TEST(AclDialect, ListPicksModelsAndLayers) {
  const CaptureSpec every = acl_spec(at_tmp(R"("dump_list": [{}])"));
  EXPECT_THAT(every.include, IsEmpty());
  EXPECT_TRUE(every.model_ops && !every.single_ops && every.steps.is_all());
  EXPECT_EQ(every.layout + every.out + every.dialect, "ge/tmpacl");
  EXPECT_EQ(every.layout_options, (std::map<std::string, std::string>{{"scene", "model"}, {"weights", "none"}}));
  const CaptureSpec some =
      acl_spec(at_tmp(R"("dump_list": [{"model_name": "ResNet-101"}, {"model_name": "ResNet-50", "layer": ["conv1", "pool1"]},
                                            {"layer": ["fc"]}])"));
  EXPECT_THAT(selectors_of(some.include),
              ElementsAre(R"(every op of the model "ResNet-101")", R"(the name "conv1" of the model "ResNet-50")",
                          R"(the name "pool1" of the model "ResNet-50")", R"(the name "fc")"));
  EXPECT_EQ(some.include[1].origin, "acl.json:1:114");
  EXPECT_TRUE(some.extras.read_inputs && some.extras.graph_inputs && !some.extras.weights);
  EXPECT_THAT(acl_spec(at_tmp(R"("dump_list": [{"layer": ["a"]}, {}])")).include, IsEmpty());
}

TEST(AclDialect, OfAModelThatStandsTwiceTheLastItemCounts) {
  const CaptureSpec spec = acl_spec(at_tmp(R"("dump_list": [{"model_name": "m", "layer": ["a"]}, {"model_name": "m", "layer": ["b"]}])"));
  EXPECT_THAT(selectors_of(spec.include), ElementsAre(R"(the name "b" of the model "m")"));
  EXPECT_THAT(spec.notes, ElementsAre(HasSubstr("the model \"m\" occurs twice; the last one counts")));
}

// A4
TEST(AclDialect, BlacklistsLeaveOutSlots) {
  const CaptureSpec spec = acl_spec(at_tmp(
      R"("dump_level": "op", "dump_mode": "all", "dump_list": [{"model_name": "m",
         "optype_blacklist": [{"name": "Conv", "pos": ["input0", "output12", "input0"]}, {"name": "Data", "pos": ["output0"]}],
         "opname_blacklist": [{"name": "fc", "pos": ["input_0", "input1"]}, {"name": "a"}, {"pos": ["input0"]}, {"name": "b", "pos": ["workspace0"]},
                              {"name": "c", "pos": ["input99999"]}]}])"));
  EXPECT_THAT(selectors_of(spec.include), ElementsAre(R"(every op of the model "m")"));
  EXPECT_THAT(selectors_of(spec.exclude),
              ElementsAre(R"(the type "Conv" of the model "m" in0 out12)", R"(the type "Input" of the model "m" out0)",
                          R"(the name "fc" of the model "m" in1)"));
  EXPECT_THAT(spec.notes,
              ElementsAre(HasSubstr("\"fc\" pos \"input_0\" is neither"), HasSubstr("\"a\" without \"pos\" has no effect"),
                          HasSubstr("\"\" without a name"), HasSubstr("\"b\" pos \"workspace0\""), HasSubstr("\"input99999\"")));
}

// A5
TEST(AclDialect, RangesAreOfTheirModel) {
  const CaptureSpec spec = acl_spec(at_tmp(
      R"("dump_level": "op", "dump_list": [{"model_name": "m", "opname_range": [{"begin": "a", "end": "b"}, {"begin": "c", "end": "c"}]}])"));
  EXPECT_THAT(selectors_of(spec.include),
              ElementsAre(R"(the range from "a" to "b" of the model "m")", R"(the range from "c" to "c" of the model "m")"));
}

// A6, A7, A9
TEST(AclDialect, ModeLevelAndSteps) {
  const CaptureSpec usual = acl_spec(at_tmp(R"("dump_list": [{}])"));
  EXPECT_TRUE(usual.outputs && !usual.inputs);
  EXPECT_THAT(usual.levels, ElementsAre("op", "kernel"));
  EXPECT_EQ(usual.payload, Payload::kTensor);
  const CaptureSpec inputs = acl_spec(at_tmp(R"("dump_list": [{}], "dump_mode": "input", "dump_level": "op", "dump_step": "0|3-5|10")"));
  EXPECT_TRUE(!inputs.outputs && inputs.inputs && inputs.extras.weights && inputs.extras.graph_inputs);
  EXPECT_THAT(inputs.levels, ElementsAre("op"));
  EXPECT_EQ(inputs.steps.to_text(), "0,3-5,10");
  const CaptureSpec all = acl_spec(at_tmp(R"("dump_list": [{}], "dump_mode": "all", "dump_level": "kernel", "dump_step": "")"));
  EXPECT_TRUE(all.outputs && all.inputs && all.steps.is_all());
  EXPECT_THAT(all.levels, ElementsAre("kernel"));
}

// A8
TEST(AclDialect, SingleOps) {
  const CaptureSpec only = acl_spec(at_tmp(R"("dump_op_switch": "on", "dump_list": [])"));
  EXPECT_TRUE(only.single_ops && !only.model_ops && only.include.empty());
  const CaptureSpec both = acl_spec(at_tmp(R"("dump_op_switch": "on", "dump_list": [{"model_name": "m"}])"));
  EXPECT_TRUE(both.single_ops && both.model_ops);
  EXPECT_THAT(selectors_of(both.include), ElementsAre(R"(every op of the model "m")", "every op that is called outside a model"));
}

// A10
TEST(AclDialect, Statistics) {
  const CaptureSpec usual = acl_spec(at_tmp(R"("dump_list": [{}], "dump_data": "stats")"));
  EXPECT_EQ(usual.payload, Payload::kStatistics);
  EXPECT_EQ(usual.layout_options.at("stats_columns"), "Max,Min,Avg,Nan,Negative Inf,Positive Inf");
  EXPECT_EQ(usual.stats, bits_of({"max", "min", "mean", "nan", "neg_inf", "pos_inf"}));
  const CaptureSpec asked = acl_spec(at_tmp(R"("dump_list": [{}], "dump_data": "stats", "dump_stats": ["L2norm", "Max", "L2norm"])"));
  EXPECT_EQ(asked.layout_options.at("stats_columns"), "Max,L2norm");
  EXPECT_EQ(asked.stats, bits_of({"max", "l2"}));
}

// A11
TEST(AclDialect, ExceptionsInThreeDepths) {
  for (const char* name : {"ASCEND_DUMP_SCENE", "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH", "NPU_COLLECT_PATH"}) unsetenv(name);
  const auto detail = [](std::string_view scene) { return acl_spec(concat(R"({"dump": {"dump_scene": ")", scene, "\"}}")); };
  EXPECT_EQ(detail("lite_exception").exception_detail, ExceptionDetail::kBrief);
  EXPECT_EQ(detail("aic_err_brief_dump").exception_detail, ExceptionDetail::kBrief);
  EXPECT_EQ(detail("aic_err_norm_dump").exception_detail, ExceptionDetail::kNorm);
  EXPECT_EQ(detail("aic_err_detail_dump").exception_detail, ExceptionDetail::kDetail);
  const CaptureSpec spec = detail("aic_err_norm_dump");
  EXPECT_EQ(spec.trigger, Trigger::kException);
  EXPECT_EQ(spec.layout_options, (std::map<std::string, std::string>{{"scene", "exception"}, {"weights", "none"}}));
  EXPECT_TRUE(spec.inputs && spec.model_ops && spec.single_ops && spec.extras.attributes);
  setenv("ASCEND_DUMP_SCENE", "aic_err_detail_dump", 1);
  EXPECT_EQ(detail("lite_exception").exception_detail, ExceptionDetail::kDetail);
  unsetenv("ASCEND_DUMP_SCENE");
}

// A13
TEST(AclDialect, OverflowKeepsInputsAndOutputsOfEveryOp) {
  const CaptureSpec spec =
      acl_spec(at_tmp(R"("dump_debug": "on", "dump_mode": "input", "dump_list": [{"layer": ["a"]}], "dump_step": "x")"));
  EXPECT_EQ(spec.trigger, Trigger::kOverflow);
  EXPECT_TRUE(spec.inputs && spec.outputs && spec.include.empty() && spec.steps.is_all());
  EXPECT_EQ(spec.layout_options.at("scene"), "overflow");
  EXPECT_THAT(spec.notes, ElementsAre(HasSubstr("\"dump_list\" has no effect"), HasSubstr("dump_step: \"x\" is no step")));
  EXPECT_EQ(acl_spec(at_tmp(R"("dump_debug": "on", "dump_step": "2")")).steps.to_text(), "2");
}

// A14
TEST(AclDialect, Watchers) {
  const CaptureSpec spec =
      acl_spec(at_tmp(R"("dump_scene": "watcher", "dump_list": [{"layer": ["A", "B"], "watcher_nodes": ["C", "D"]}])"));
  EXPECT_EQ(spec.trigger, Trigger::kWatch);
  EXPECT_THAT(selectors_of(spec.watchers), ElementsAre("the name \"A\"", "the name \"B\""));
  EXPECT_THAT(selectors_of(spec.include), ElementsAre("the name \"C\"", "the name \"D\""));
  EXPECT_TRUE(!spec.single_ops && !spec.inputs && !spec.extras.read_inputs);
  EXPECT_EQ(spec.layout_options.at("scene"), "watcher");
  const CaptureSpec after_all =
      acl_spec(at_tmp(R"("dump_scene": "watcher", "dump_list": [{"layer": ["A"], "watcher_nodes": ["C"]}, {"watcher_nodes": ["D"]}])"));
  EXPECT_THAT(after_all.watchers, IsEmpty());
  EXPECT_TRUE(acl_spec(at_tmp(R"("dump_scene": "watcher")")).steps.is_never());
}

TEST(AclDialect, WhatHasNoEffectIsSaid) {
  const CaptureSpec spec =
      acl_spec(at_tmp("\n\"dump_Mode\": 5, \"dump_kernel_data\": \"printf,assert\", \"dump_list\": [{\"modelname\": 1, \"layer\": "
                      "[\"\"]}],\n\"dump_data\": \"stats\", \"dump_data\": \"tensor\""));
  EXPECT_THAT(spec.notes, Contains("acl.json:2:1: dump.dump_Mode: unknown key; ignored, as in AscendCL. Did you mean \"dump_mode\"?"));
  EXPECT_THAT(spec.notes, Contains(HasSubstr("acl.json:2:69: dump.dump_list[0].modelname: unknown key")));
  EXPECT_THAT(spec.notes, Contains(HasSubstr("the key \"dump_data\" occurs twice")));
  EXPECT_THAT(spec.notes, Contains(HasSubstr("dump_kernel_data: has no effect")));
  EXPECT_THAT(spec.notes, Contains("\"dump_list\" names no op, so nothing is captured"));
  EXPECT_EQ(spec.payload, Payload::kTensor);
}

TEST(AclDialect, AddressesAreLeftOutOfThePath) {
  const auto out = [](std::string_view path) {
    return acl_spec(concat(R"({"dump": {"dump_op_switch": "on", "dump_path": ")", path, "\"}}")).out;
  };
  EXPECT_EQ(out("10.20.30.40:var/data"), "var/data");
  EXPECT_EQ(out("10.20.30.40:/var/data"), "var/data");
  EXPECT_EQ(out("0.0.0.255:/"), ".");
  EXPECT_EQ(out("/tmp"), "/tmp");
}

TEST(AclDialect, AConfigWithADumpIsRecognised) {
  EXPECT_TRUE(recognise_config(R"({"dump": {}, "profiler": {}})"));
  EXPECT_TRUE(recognise_config(R"({"dump": 5})"));
  EXPECT_FALSE(recognise_config(R"({"common_dump_settings": {}})"));
  EXPECT_FALSE(recognise_config(R"({"x": {"dump": {}}})"));
  EXPECT_FALSE(recognise_config(R"([{"dump": {}}])"));
  EXPECT_FALSE(recognise_config("{\"dump\": {"));
}

TEST(AclDialect, AConfigThatAsksForNothingCapturesNoStep) {
  EXPECT_TRUE(acl_spec("").steps.is_never());
  EXPECT_TRUE(acl_spec(at_tmp(R"("dump_list": [])")).steps.is_never());
  EXPECT_TRUE(acl_spec(R"({"profiler": {}})").steps.is_never());
}

}  // namespace
}  // namespace tensortap::ascend
