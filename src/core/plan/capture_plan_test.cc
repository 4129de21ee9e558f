#include "plan/capture_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "plan/selector_set.h"
#include "plan/where.h"

namespace tensortap {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

OpInfo op(std::string name, std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  OpInfo info;
  info.name = std::move(name);
  info.type = std::move(type);
  for (std::string& input : inputs) info.inputs.push_back({std::move(input), kNoOp, 0});
  info.outputs = std::move(outputs);
  return info;
}

// x, w -> conv_1 (fused with relu_1) -> split_1 (two outputs) -> gemm_1, softmax_1
std::vector<OpInfo> a_graph() {
  std::vector<OpInfo> ops = {op("x", "Input", {}, {"x"}),
                             op("w", "Initializer", {}, {"w"}),
                             op("conv_1", "FusedConv", {"x", "w"}, {"relu_out"}),
                             op("split_1", "Split", {"relu_out"}, {"left", "right"}),
                             op("gemm_1", "Gemm", {"left", ""}, {"logits"}),
                             op("softmax_1", "Softmax", {"logits"}, {"y"})};
  ops[2].originals = {{"conv_1", "Conv"}, {"relu_1", "Relu"}};
  ops[2].module = "model.layer1";
  ops[2].source_location = "/home/a/train.py:41";
  ops[4].module = "model.layer10";
  ops[4].originals = {{"dense_1", "Gemm"}};
  return ops;
}

struct Bound {
  std::string error;
  std::vector<std::string> wanted;  // names of the ops of which something is
  std::vector<OpDecision> decisions;
  std::vector<std::string> notes;
};

Bound bind_config(std::string_view config, const std::vector<OpInfo>& ops = a_graph(), const PlanEnvironment& environment = {}) {
  Bound bound;
  const Result<CaptureSpec> spec = spec_from_json(config, "c.json");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  auto plan = CapturePlan::compile(*spec, environment);
  if (!plan.ok()) {
    bound.error = plan.status().message();
    return bound;
  }
  Result<std::vector<OpDecision>> decisions = (*plan)->bind(ops);
  bound.notes.assign((*plan)->notes().begin(), (*plan)->notes().end());
  if (!decisions.ok()) {
    EXPECT_EQ(decisions.status().code(), StatusCode::kInvalidArgument);
    bound.error = decisions.status().message();
    return bound;
  }
  bound.decisions = *decisions;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (bound.decisions[i].wanted) bound.wanted.push_back(ops[i].name);
  }
  return bound;
}

TEST(CapturePlan, ScopedNamesPickExactlyAndByWholeExpression) {
  EXPECT_THAT(bind_config(R"({"include": ["Default/split_1/Split-op1"]})").wanted, ElementsAre("split_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"full_regex": "Default/.*-op[23]"}]})").wanted, ElementsAre("gemm_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"scoped_type": "gem"}]})").wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"full_regex": "dense_."}]})").wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": ["Default/split_1/Split-op2"]})").error, HasSubstr("Did you mean \"Default/split_1/Split-op1\""));
  EXPECT_THAT(bind_config(R"({"include": [{"full_regex": "ense_1"}]})").error, HasSubstr("matches no op"));
}

TEST(CapturePlan, AnOptionalSelectorThatPicksNothingIsANote) {
  const Bound bound = bind_config(R"({"include": ["gemm_1", {"name": "gemm_2", "optional": true}]})");
  EXPECT_THAT(bound.wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bound.notes, ElementsAre(HasSubstr("the name \"gemm_2\" (c.json:1:24) matches no op. Did you mean \"gemm_1\"")));
}

TEST(CapturePlan, WithoutSelectorsEverythingIsWanted) {
  const Bound bound = bind_config("");
  EXPECT_THAT(bound.wanted, ElementsAre("x", "w", "conv_1", "split_1", "gemm_1", "softmax_1"));
  EXPECT_TRUE(bound.decisions[2].wants_slot(SlotKind::kOutput, 0));
  EXPECT_FALSE(bound.decisions[2].wants_slot(SlotKind::kInput, 0));
}

TEST(CapturePlan, ExtrasDecideOverWeightsAndGraphInputs) {
  EXPECT_THAT(bind_config(R"({"extras": {"weights": false}})").wanted, ElementsAre("x", "conv_1", "split_1", "gemm_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"extras": {"graph_inputs": false}})").wanted, ElementsAre("w", "conv_1", "split_1", "gemm_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"regex": "^w|gemm"}], "extras": {"weights": false}})").wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": ["w"], "extras": {"weights": false}})").wanted, ElementsAre("w")) << "named outright";
}

TEST(CapturePlan, SelectsByEveryKind) {
  EXPECT_THAT(bind_config(R"({"include": ["gemm_1"]})").wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": ["logits"]})").wanted, ElementsAre("gemm_1")) << "by an output value";
  EXPECT_THAT(bind_config(R"({"include": [{"prefix": "s"}]})").wanted, ElementsAre("split_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"regex": "m(m|ax)_\\d$"}]})").wanted, ElementsAre("gemm_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"type": "Gemm"}, {"type": "Relu"}]})").wanted, ElementsAre("conv_1", "gemm_1"))
      << "original types, too";
  EXPECT_THAT(bind_config(R"({"include": [{"type_contains": "S"}]})").wanted, ElementsAre("conv_1", "split_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"from": "relu_1", "to": "gemm_1"}]})").wanted, ElementsAre("conv_1", "split_1", "gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"from": "", "to": "split_1"}]})").wanted, ElementsAre("conv_1", "split_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"module": "model.layer1"}]})").wanted, ElementsAre("conv_1")) << "layer10 is another module";
  EXPECT_THAT(bind_config(R"({"include": [{"module": "model"}]})").wanted, ElementsAre("conv_1", "gemm_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"source": "train.py:41"}]})").wanted, ElementsAre("conv_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"id": "0,2"}]})").wanted, ElementsAre("conv_1", "gemm_1")) << "inputs and weights have no id";
  EXPECT_THAT(bind_config(R"({"include": [{"regex": "_1$", "of_types": ["Relu", "Split"]}]})").wanted, ElementsAre("conv_1", "split_1"));
}

TEST(CapturePlan, IdsFollowTheTreeOfOperations) {
  std::vector<OpInfo> ops = {op("loop", "Loop", {}, {"a"}), op("inner", "Add", {}, {"b"}), op("inner2", "If", {}, {"c"}),
                             op("deep", "Mul", {}, {"d"}), op("next", "Add", {}, {"e"})};
  ops[1].parent = 0;
  ops[2].parent = 0;
  ops[3].parent = 2;
  EXPECT_THAT(bind_config(R"({"include": [{"id": "0_1"}]})", ops).wanted, ElementsAre("inner2"));
  EXPECT_THAT(bind_config(R"({"include": [{"id": "0_1", "children": true}]})", ops).wanted, ElementsAre("inner2", "deep"));
  EXPECT_THAT(bind_config(R"({"include": [{"id": "1"}]})", ops).wanted, ElementsAre("next"));
}

// A3
TEST(CapturePlan, AnOriginalNodeIsCapturedAsTheOpThatHoldsIt) {
  const Bound bound = bind_config(R"({"include": ["relu_1", "dense_1"]})");
  EXPECT_THAT(bound.wanted, ElementsAre("conv_1", "gemm_1"));
  EXPECT_THAT(bound.notes,
              ElementsAre("the original node \"relu_1\" runs inside \"conv_1\" (FusedConv, fused with \"conv_1\"); it is captured as that",
                          "the original node \"dense_1\" runs as \"gemm_1\" (Gemm); it is captured as that"));
  EXPECT_THAT(bind_config(R"({"include": ["conv_1"]})").notes, IsEmpty());
}

TEST(CapturePlan, InputsAreTheOutputsOfTheirProducers) {
  const Bound bound = bind_config(R"({"include": ["gemm_1", "conv_1"], "slots": ["in"]})");
  EXPECT_THAT(bound.wanted, ElementsAre("x", "w", "conv_1", "split_1", "gemm_1"));
  const OpDecision& split = bound.decisions[3];
  EXPECT_TRUE(split.outputs_for_consumers);
  EXPECT_THAT(split.output_slots, ElementsAre(0));
  EXPECT_TRUE(split.wants_slot(SlotKind::kOutput, 0));
  EXPECT_FALSE(split.wants_slot(SlotKind::kOutput, 1));
  EXPECT_FALSE(split.wants_slot(SlotKind::kInput, 0));
  EXPECT_TRUE(bound.decisions[4].wants_slot(SlotKind::kInput, 0));
  EXPECT_FALSE(bound.decisions[4].wants_slot(SlotKind::kOutput, 0));
  EXPECT_FALSE(bind_config(R"({"include": ["gemm_1"]})").decisions[3].wanted) << "outputs only: the producer is not wanted";
}

TEST(CapturePlan, ProducersByNumberWinOverNames) {
  std::vector<OpInfo> ops = a_graph();
  ops[4].inputs[0].producer = 3;
  ops[4].inputs[0].producer_slot = 1;
  EXPECT_THAT(bind_config(R"({"include": ["gemm_1"], "slots": ["in"]})", ops).decisions[3].output_slots, ElementsAre(1));
}

// A4
TEST(CapturePlan, ExclusionsTakeOpsOrSlotsAway) {
  EXPECT_THAT(bind_config(R"({"exclude": [{"type": "Split"}, "y"]})").wanted, ElementsAre("x", "w", "conv_1", "gemm_1"));
  const Bound slots = bind_config(R"({"slots": ["in", "out"], "exclude": [{"name": "split_1", "slots": ["out1", "in0"]}]})");
  EXPECT_TRUE(slots.decisions[3].wants_slot(SlotKind::kOutput, 0));
  EXPECT_FALSE(slots.decisions[3].wants_slot(SlotKind::kOutput, 1));
  EXPECT_FALSE(slots.decisions[3].wants_slot(SlotKind::kInput, 0));
  EXPECT_TRUE(slots.decisions[2].wants_slot(SlotKind::kInput, 0));
}

TEST(CapturePlan, AnExcludedProducerIsNotBroughtBackByItsConsumer) {
  const Bound bound = bind_config(R"({"include": ["gemm_1"], "slots": ["in"], "exclude": ["split_1"]})");
  EXPECT_THAT(bound.wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bound.notes, ElementsAre("in0 of \"gemm_1\" is made by \"split_1\", which is left out; it is not captured"));
}

TEST(CapturePlan, UnmatchedSelectorsAreErrorsWithTheNearestNames) {
  EXPECT_EQ(bind_config("{\"include\": [\n \"gem_1\"]}").error, "the name \"gem_1\" (c.json:2:2) matches no op. Did you mean \"gemm_1\"?");
  EXPECT_THAT(bind_config(R"({"include": [{"type": "Softmaxx"}]})").error, HasSubstr("Did you mean \"Softmax\"?"));
  EXPECT_THAT(bind_config(R"({"exclude": ["relu_2"]})").error, HasSubstr("\"relu_1\""));
  EXPECT_THAT(bind_config(R"({"include": [{"regex": "_1$", "of_types": ["Convv"]}]})").error,
              HasSubstr("There is no type \"Convv\". Did you mean \"Conv\"?"));
  const std::string many = bind_config(R"({"include": ["a1","a2","a3","a4","a5","a6","a7","a8","a9","a10","a11","a12"]})").error;
  EXPECT_THAT(many, HasSubstr("... and 2 more selectors"));
}

// A5
TEST(CapturePlan, RangesAreCheckedAgainstTheGraph) {
  EXPECT_THAT(bind_config(R"({"include": [{"from": "gemm_2", "to": ""}]})").error,
              HasSubstr("there is no op \"gemm_2\". Did you mean \"gemm_1\""));
  EXPECT_THAT(bind_config(R"({"include": [{"from": "gemm_1", "to": "conv_1"}]})").error,
              HasSubstr("(c.json:1:14) is the wrong way round: \"gemm_1\" runs as number 4, \"conv_1\" as number 2; swap the two"));
}

TEST(CapturePlan, OpsThatBecomeKnownOneByOne) {
  auto plan = CapturePlan::compile(*spec_from_json(R"({"include": ["gemm_1", "gemm_2", {"from": "a", "to": "b"}]})", "c.json"));
  ASSERT_TRUE(plan.ok());
  size_t wanted = 0;
  for (const OpInfo& info : a_graph()) wanted += (*plan)->decide(info).wanted ? 1 : 0;
  EXPECT_EQ(wanted, 1U);
  EXPECT_THAT((*plan)->unmatched(),
              ElementsAre("the name \"gemm_2\" (c.json:1:24) matches no op. Did you mean \"gemm_1\"?",
                          "the range from \"a\" to \"b\" (c.json:1:34) matches no op. A range needs the whole graph before it runs."));
}

TEST(CapturePlan, NumberedNamesProposeTheirModuleAndType) {
  const std::string_view config = R"({"include": [{"name": "Default/model/fc2/addmm-op12", "optional": true},
                                                  {"name": "fc2/addmm-op700", "optional": true},
                                                  {"name": "Default/model/fc3/addmm/addmm-op0", "optional": true},
                                                  {"name": "Default/other/lstm-op1", "optional": true}]})";
  std::vector<OpInfo> ops;
  for (const char* name : {"model.fc1/addmm", "model.relu/relu", "model.fc2/addmm", "addmm"}) ops.push_back(op(name, "addmm", {}, {}));
  ops[1].type = "relu";
  auto plan = CapturePlan::compile(*spec_from_json(config, "c.json"));
  ASSERT_TRUE(plan.ok());
  for (const OpInfo& info : ops) EXPECT_FALSE((*plan)->decide(info).wanted);
  const auto fc2 = HasSubstr("matches no op. Did you mean \"Default/model/fc2/addmm/addmm-op2\"?");
  const auto near = HasSubstr("Did you mean \"Default/model/fc1/addmm/addmm-op0\", \"Default/model/fc2/addmm/addmm-op2\" or ");
  EXPECT_THAT((*plan)->unmatched(), ElementsAre(fc2, fc2, near, EndsWith("\"Default/other/lstm-op1\" (c.json:4:51) matches no op.")));
  EXPECT_THAT(bind_config(config, ops).notes, ElementsAre(fc2, fc2, near, EndsWith("matches no op.")));
}

std::string refusal(std::string_view config, const PlanEnvironment& environment = {}) {
  const Result<CaptureSpec> spec = spec_from_json(config, "c.json");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  const auto plan = CapturePlan::compile(*spec, environment);
  if (plan.ok()) return "";
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  return plan.status().message();
}

// A15
TEST(CapturePlan, RefusesWordsThatAProgramPutIntoASpec) {
  CaptureSpec policy;
  policy.non_finite = "keep";
  EXPECT_THAT(CapturePlan::compile(policy).status().message(), HasSubstr("non_finite: unknown policy \"keep\""));
  CaptureSpec digest;
  digest.digest = "crc";
  EXPECT_THAT(CapturePlan::compile(digest).status().message(), HasSubstr("digest: unknown kind \"crc\""));
}

TEST(CapturePlan, ContradictionsNameBothSides) {
  EXPECT_EQ(refusal("{\"include\": [{\"type\": \"Conv\"}],\n\"exclude\": [{\"type\": \"Conv\"}]}"),
            "the type \"Conv\" (c.json:1:14) is asked for, and the type \"Conv\" (c.json:2:13) is left out; keep one of the two");
  EXPECT_THAT(refusal(R"({"payload": "tensor", "stats": ["min"]})"), HasSubstr("\"stats\" contradicts \"payload\": \"tensor\""));
  const std::vector<std::pair<const char*, const char*>> with_sketch = {
      {R"("payload": "tensor")", "\"sketch\" contradicts \"payload\": \"tensor\""},
      {R"("trigger": "overflow")", "\"sketch\" contradicts \"trigger\": \"overflow\""},
      {R"("trigger": "watch")", "\"sketch\" contradicts \"trigger\": \"watch\""},
      {R"("where": "nan > 0", "limits": {"ring_ops": 3})", "\"sketch\" contradicts \"limits\": \"ring_ops\""},
      {R"("sampling": {"elements": 9})", "\"sketch\" contradicts \"sampling\""},
  };
  for (const auto& [other, message] : with_sketch)
    EXPECT_THAT(refusal(concat(R"({"sketch": {"blocks": 16}, )", other, "}")), HasSubstr(message));
  EXPECT_THAT(refusal(R"({"payload": "description", "histogram": true})"),
              HasSubstr("\"histogram\" contradicts \"payload\": \"description\""));
  EXPECT_EQ(refusal(R"({"include": [{"type": "Conv"}], "exclude": [{"type": "Conv", "slots": ["in0"]}]})"), "");
  EXPECT_EQ(refusal(R"({"include": [{"type": "Conv", "of_model": "a"}], "exclude": [{"type": "Conv", "of_model": "b"}]})"), "");
  EXPECT_THAT(refusal(R"({"watchers": ["a"], "trigger": "overflow"})"), HasSubstr("\"watchers\" contradicts \"trigger\": \"overflow\""));
  EXPECT_THAT(refusal(R"({"model_ops": false, "single_ops": false})"), HasSubstr("nothing would be captured"));
}

TEST(CapturePlan, WhatCanNotBeDoneYetIsRefused) {
  EXPECT_THAT(
      refusal(R"({"levels": ["op", "module"]})"),
      HasSubstr("the level \"module\" is not supported: this source reports no calls of modules; use \"op\", \"kernel\" or \"api\""));
  EXPECT_THAT(refusal(R"({"layout": "ge"})", {.layouts = {"tap"}}), HasSubstr("the layout \"ge\" yet; it writes tap"));
  EXPECT_THAT(refusal(R"({"moment": "before"})", {.layouts = {}, .before_moment = false}), HasSubstr("\"moment\": \"before\""));
  EXPECT_EQ(refusal(R"({"moment": "before"})"), "");
}

// L4, L7
TEST(CapturePlan, PicksByThePlaceInTheTreeAndByTheTypeThatATreeHas) {
  std::vector<OpInfo> ops(5);
  for (size_t i = 0; i < ops.size(); ++i) ops[i].name = concat("op", i);
  ops[0].type = "Layer";
  ops[0].level = Level::kModule;
  ops[1].type = "native_layer_norm";
  ops[1].parent = 0;
  ops[2].type = "add_";
  ops[2].parent = 0;
  ops[3].type = "LayerNorm";
  ops[4].type = "Input";
  const PlanEnvironment modules{.modules = true};
  const auto wanted = [&](const std::string& include) {
    return bind_config(concat(R"({"levels": ["op", "module"], "include": [)", include, "]}"), ops, modules).wanted;
  };
  EXPECT_THAT(wanted(R"({"every": "root"})"), ElementsAre("op0", "op3"));
  EXPECT_THAT(wanted(R"({"id": "0", "children": true})"), ElementsAre("op0", "op1", "op2"));
  EXPECT_THAT(wanted(R"({"operation_type": "nativelayer"})"), ElementsAre("op1"));
  EXPECT_THAT(wanted(R"({"operation_type": "LayerNormOperation"})"), ElementsAre("op3"));
  EXPECT_THAT(wanted(R"({"operation_type": "layer"})"), ElementsAre("op0", "op3"));
  EXPECT_THAT(bind_config(R"({"include": [{"id": "7"}]})", ops).error,
              HasSubstr("the id \"7\" (c.json:1:14) matches no op. The highest id of an op that is inside no other is 1."));
}

// A3
TEST(CapturePlan, SelectorsOfAnotherModelPickNothing) {
  const PlanEnvironment environment{.models = {"seg_net", "main"}};
  const std::string config =
      R"({"include": [{"every": "op", "of_model": "resnet", "optional": true}, {"name": "gemm_1", "of_model": "main"},
                      {"from": "no", "to": "such", "of_model": "resnet", "optional": true}],
          "exclude": [{"name": "gemm_1", "slots": ["out0"], "of_model": "resnet", "optional": true}]})";
  const Bound bound = bind_config(config, a_graph(), environment);
  EXPECT_THAT(bound.wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bound.notes, ElementsAre("the model \"resnet\" (c.json:1:14) does not run; names of running models: \"seg_net\", \"main\"."));
  EXPECT_TRUE(bound.decisions[4].wants_slot(SlotKind::kOutput, 0));
  EXPECT_THAT(bind_config(R"({"include": [{"every": "op", "of_model": "seg_ne"}]})", a_graph(), environment).error,
              HasSubstr("Did you mean \"seg_net\"?"));
  EXPECT_THAT(bind_config(R"({"include": [{"every": "op", "of_model": "main"}]})", a_graph(), environment).wanted,
              ElementsAre("x", "w", "conv_1", "split_1", "gemm_1", "softmax_1"));
  EXPECT_THAT(bind_config(R"({"include": [{"every": "op", "of_model": "m"}]})").error, HasSubstr("no running model has a name"));
}

// A8
TEST(CapturePlan, OpsOfModelsAndSingleOnesAreChosenApart) {
  std::vector<OpInfo> ops = a_graph();
  ops.push_back(op("add", "Add", {}, {"sum"}));
  ops.back().single = true;
  EXPECT_THAT(bind_config(R"({"single_ops": false})", ops).wanted, Not(Contains("add")));
  EXPECT_THAT(bind_config(R"({"model_ops": false, "extras": {"weights": false, "graph_inputs": false}})", ops).wanted, ElementsAre("add"));
  EXPECT_THAT(bind_config(R"({"include": ["gemm_1", {"every": "single"}]})", ops).wanted, ElementsAre("gemm_1", "add"));
  EXPECT_THAT(bind_config(R"({"include": [{"every": "op", "of_model": "m"}]})", ops, {.models = {"m"}}).wanted, Not(Contains("add")));
}

// A7
TEST(CapturePlan, AnOpIsItsOwnKernelWhereNoneAreReported) {
  std::vector<OpInfo> ops = {op("aten::linear", "linear", {}, {"y"}), op("aten::addmm", "addmm", {}, {"z"})};
  ops[1].level = Level::kKernel;
  ops[1].parent = 0;
  const PlanEnvironment kernels{.kernels = true};
  EXPECT_THAT(bind_config(R"({"levels": ["op"]})", ops, kernels).wanted, ElementsAre("aten::linear"));
  EXPECT_THAT(bind_config(R"({"levels": ["kernel"]})", ops, kernels).wanted, ElementsAre("aten::addmm"));
  EXPECT_THAT(bind_config(R"({"levels": ["op", "kernel"]})", ops, kernels).wanted, ElementsAre("aten::linear", "aten::addmm"));
  EXPECT_THAT(bind_config(R"({"levels": ["kernel"]})").wanted, Contains("gemm_1"));
}

// A14
TEST(CapturePlan, WatchersAreMarkedAndWatchedOpsWanted) {
  const Bound bound =
      bind_config(R"({"trigger": "watch", "watchers": ["relu_1", {"name": "nothing", "optional": true}], "include": ["gemm_1"]})");
  EXPECT_THAT(bound.wanted, ElementsAre("gemm_1"));
  for (size_t i = 0; i < bound.decisions.size(); ++i) EXPECT_EQ(bound.decisions[i].watcher, i == 2) << i;
  EXPECT_THAT(bound.notes, Contains(HasSubstr("the name \"nothing\" (c.json:1:45) matches no op")));
  EXPECT_THAT(bind_config(R"({"trigger": "watch", "watchers": ["gem_1"]})").error, HasSubstr("Did you mean \"gemm_1\"?"));
  const Bound every = bind_config(R"({"trigger": "watch", "include": ["gemm_1"]})");
  for (size_t i = 0; i < every.decisions.size(); ++i) EXPECT_EQ(every.decisions[i].watcher, i >= 2) << i;
  EXPECT_FALSE(bind_config("{}").decisions[2].watcher);
}

// A14
TEST(CapturePlan, ANameOfAnOpOutsideEveryModelIsSaidToBeThat) {
  auto spec = spec_from_json(R"({"trigger": "watch", "watchers": [{"name": "relu", "optional": true}], "single_ops": false})", "c.json");
  auto plan = CapturePlan::compile(*spec);
  OpInfo relu = op("relu", "relu", {}, {"y"});
  relu.single = true;
  static_cast<void>((*plan)->decide(relu));
  EXPECT_THAT((*plan)->unmatched(),
              ElementsAre(HasSubstr("\"relu\" (c.json:1:35) matches no op of a model: the op of this name is called by itself")));
}

// A4
TEST(CapturePlan, AnOutputThatIsLeftOutIsKeptForItsReadersOnlyWhereThatIsAsked) {
  const std::string config = R"({"slots": ["in", "out"], "exclude": [{"name": "split_1", "slots": ["out0"]}], "keep_for_readers": KEEP})";
  const auto split = [&](std::string keep) {
    std::string text = config;
    return bind_config(text.replace(text.find("KEEP"), 4, keep)).decisions[3];
  };
  EXPECT_FALSE(split("false").wants_slot(SlotKind::kOutput, 0));
  EXPECT_TRUE(split("true").wants_slot(SlotKind::kOutput, 0));
  for (const char* keep : {"false", "true"}) {
    EXPECT_FALSE(split(keep).is_own_output(0)) << keep;
    EXPECT_TRUE(split(keep).is_own_output(1) && split(keep).wants_slot(SlotKind::kOutput, 1)) << keep;
  }
  EXPECT_FALSE(bind_config(R"({"slots": ["in", "out"], "exclude": ["split_1"], "keep_for_readers": true})").decisions[3].wanted);
}

// A5
TEST(CapturePlan, AnOptionalRangeWithoutItsEndsIsANote) {
  const Bound bound = bind_config(R"({"include": ["gemm_1", {"from": "gemm_2", "to": "gemm_1", "optional": true},
                                                  {"from": "softmax_1", "to": "conv_1", "optional": true}]})");
  EXPECT_THAT(bound.wanted, ElementsAre("gemm_1"));
  EXPECT_THAT(bound.notes,
              ElementsAre(HasSubstr("there is no op \"gemm_2\". Did you mean \"gemm_1\"?"), HasSubstr("is the wrong way round")));
}

TEST(CapturePlan, InputsOfTheGraphComeWithThePickedOpsThatReadThem) {
  const std::string config = R"({"include": [NAME], "extras": {"read_inputs": true}})";
  const auto with = [&](std::string name) {
    std::string text = config;
    return text.replace(text.find("NAME"), 4, name);
  };
  EXPECT_THAT(bind_config(with("\"conv_1\"")).wanted, ElementsAre("x", "conv_1"));
  EXPECT_THAT(bind_config(with("\"gemm_1\"")).wanted, ElementsAre("gemm_1"));
  // What conv_1 makes is kept as an input of the picked one, and conv_1 is not picked.
  EXPECT_THAT(bind_config(R"({"include": ["split_1"], "slots": ["in", "out"], "extras": {"read_inputs": true}})").wanted,
              ElementsAre("conv_1", "split_1"));
  EXPECT_THAT(bind_config(R"({"include": ["conv_1"], "exclude": ["x"], "extras": {"read_inputs": true}})").wanted, ElementsAre("conv_1"));
}

TEST(CapturePlan, TheExceptionTriggerKeepsNothingByItself) { EXPECT_THAT(bind_config(R"({"trigger": "exception"})").wanted, IsEmpty()); }

TEST(CapturePlan, WhereIsCompiled) {
  const auto plan = CapturePlan::compile(*spec_from_json(R"({"where": "nan > 0"})", "c.json"));
  ASSERT_NE((*plan)->where(), nullptr);
  EXPECT_EQ((*plan)->where()->text(), "nan > 0");
  CaptureSpec wrong;
  wrong.where = "nan >";
  EXPECT_THAT(CapturePlan::compile(wrong).status().message(), HasSubstr("where: column 6"));
}

TEST(CapturePlan, ExplainsItselfInSentences) {
  const std::string usual = join(explain(CaptureSpec()), "\n");
  EXPECT_THAT(usual, HasSubstr("Every op is captured: its outputs."));
  EXPECT_THAT(usual, HasSubstr("Every step is captured."));
  EXPECT_THAT(usual, HasSubstr("the usual statistics"));
  EXPECT_THAT(usual, HasSubstr("tensortap_dump/TIME"));
  EXPECT_THAT(usual, HasSubstr("less than 64 MiB free"));
  const std::string asked =
      join(explain(*spec_from_json(
               R"({"include": [{"type": "Conv"}], "steps": "2", "payload": "full", "budget": "3%", "where": "nan > 0", "out": "d"})", "c")),
           "\n");
  EXPECT_THAT(asked, HasSubstr("the type \"Conv\" (c:1:14)"));
  EXPECT_THAT(asked, HasSubstr("counted from 0: 2."));
  EXPECT_THAT(asked, HasSubstr("at most 3 %"));
  EXPECT_THAT(asked, HasSubstr("holds for it: nan > 0"));
  EXPECT_THAT(asked, HasSubstr("the folder \"d\""));
  EXPECT_THAT(asked, HasSubstr("the program waits for the disk"));
  EXPECT_THAT(asked, HasSubstr("less than 2 GiB free"));
  EXPECT_THAT(asked, HasSubstr("At most 256 MiB of copies"));
}

TEST(CapturePlan, ExplainsATriggerWithoutContradictingIt) {
  const auto explained = [](const char* config) { return join(explain(*spec_from_json(config, "c")), "\n"); };
  const std::string failures = explained(R"({"trigger": "exception", "payload": "full", "limits": {"keep_free": "4 GB"}})");
  EXPECT_THAT(failures, HasSubstr("Nothing is captured unless an op fails"));
  EXPECT_THAT(failures, HasSubstr("less than 4 GB free"));
  for (const char* config : {R"({"trigger": "exception"})", R"({"trigger": "exception", "limits": {"ring_ops": 3}})",
                             R"({"trigger": "overflow", "include": ["a"], "steps": "2"})", R"({"trigger": "on-request"})"}) {
    const std::string text = explained(config);
    for (const char* wrong : {"Every op is captured", "Every step is captured", "These steps are captured", "of ops are captured"})
      EXPECT_THAT(text, testing::Not(HasSubstr(wrong))) << config;
  }
  EXPECT_THAT(failures, testing::Not(HasSubstr("Of each tensor"))) << "the form says nothing about what fails";
}

TEST(CapturePlan, ExplainsWhatMatches) {
  const Bound bound = bind_config(R"({"include": ["gemm_1", "softmax_1"], "slots": ["in"]})");
  EXPECT_THAT(explain_match(a_graph(), bound.decisions),
              ElementsAre("2 of the graph's 4 ops are captured: 1 Gemm, 1 Softmax.", "They are \"gemm_1\", \"softmax_1\".",
                          "Of 1 other ops outputs are kept because a captured op reads them."));
}

// Names of ops are the user's own and hold anything; an exact selector picks its op and no other.
RC_GTEST_PROP(CapturePlan, ExactNamesPickTheirOpWhateverTheNames, (std::vector<std::string> names)) {
  std::vector<OpInfo> ops;
  std::erase(names, "");
  for (size_t i = 0; i < names.size(); ++i) ops.push_back(op(concat(names[i], "#", i), "T", {}, {}));
  if (ops.empty()) return;
  const size_t chosen = *rc::gen::inRange<size_t>(0, ops.size());
  CaptureSpec spec;
  spec.include.push_back({.text = ops[chosen].name});
  auto plan = CapturePlan::compile(spec);
  RC_ASSERT(plan.ok());
  const auto decisions = (*plan)->bind(ops);
  RC_ASSERT(decisions.ok());
  for (size_t i = 0; i < ops.size(); ++i) RC_ASSERT((*decisions)[i].wanted == (i == chosen));
}

RC_GTEST_PROP(CapturePlan, AnyRegularExpressionGivesAPlanOrAMessage, (const std::string& text, const std::vector<std::string>& names)) {
  CaptureSpec spec;
  OpSelector selector;
  selector.kind = OpSelector::Kind::kNameRegex;
  selector.text = text;
  selector.origin = "--ops";
  spec.include.push_back(selector);
  auto plan = CapturePlan::compile(spec);
  if (!plan.ok()) RC_ASSERT(plan.status().message().starts_with("--ops: the regular expression "));
  if (!plan.ok()) return;
  for (const std::string& name : names) static_cast<void>((*plan)->decide(op(name, "T", {}, {name})));
}

TEST(CapturePlan, ManyNamesAndManyOpsAreQuick) {
  CaptureSpec spec;
  std::vector<OpInfo> ops;
  for (int i = 0; i < 20000; ++i) {
    spec.include.push_back({.text = concat("op", i)});
    ops.push_back(op(concat("op", i), "T", {concat("v", i)}, {concat("v", i + 1)}));
  }
  spec.inputs = true;
  auto plan = CapturePlan::compile(spec);
  const auto decisions = (*plan)->bind(ops);
  ASSERT_TRUE(decisions.ok()) << decisions.status().message();
  EXPECT_TRUE(decisions->back().wanted);
}

}  // namespace
}  // namespace tensortap
