#include "plan/selection.h"

#include <gtest/gtest.h>

#include "plan/capture_plan.h"

namespace tensortap {
namespace {

std::string problem(const CaptureOptions& options) {
  const Result<CaptureSpec> spec = spec_from_options(options);
  return spec.ok() ? "" : spec.status().message();
}

TEST(Selection, NothingGivenIsTheDefault) { EXPECT_EQ(*spec_from_options({}), CaptureSpec()); }

TEST(Selection, EveryOptionEntersTheSpec) {
  CaptureOptions options;
  options.ops = {"^/layer1"};
  options.types = {"Conv, Gemm", "Relu"};
  options.steps = "0,3-5";
  options.slots = "in,out";
  options.where = "nan > 0";
  options.full = true;
  options.budget = "3%";
  options.max_bytes = "4GiB";
  options.keep_free = "0";
  options.stop_after = "7";
  options.strict = true;
  options.layout = "tap";
  options.out = "there";
  options.mode = "shared";
  const Result<CaptureSpec> spec = spec_from_options(options);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  ASSERT_EQ(spec->include.size(), 1U);
  EXPECT_EQ(spec->include[0].kind, OpSelector::Kind::kNameRegex);
  EXPECT_EQ(spec->include[0].of_types, (std::vector<std::string>{"Conv", "Gemm", "Relu"}));
  EXPECT_EQ(spec->include[0].origin, "--ops");
  EXPECT_EQ(spec->steps.to_text(), "0,3-5");
  EXPECT_TRUE(spec->inputs && spec->outputs && spec->strict);
  EXPECT_EQ(spec->where, "nan > 0");
  EXPECT_EQ(spec->payload, Payload::kFull);
  EXPECT_DOUBLE_EQ(spec->budget, 0.03);
  EXPECT_EQ(spec->limits.max_bytes, uint64_t{4} << 30);
  EXPECT_EQ(spec->limits.keep_free, 0U);
  EXPECT_EQ(spec->limits.stop_after, 7);
  EXPECT_EQ(spec->out, "there");
  EXPECT_EQ(spec->access, Access::kShared);
}

TEST(Selection, TypesAloneArePickedEach) {
  CaptureOptions options;
  options.types = {"Conv,Gemm"};
  const Result<CaptureSpec> spec = spec_from_options(options);
  ASSERT_EQ(spec->include.size(), 2U);
  EXPECT_EQ(spec->include[1].kind, OpSelector::Kind::kType);
  EXPECT_EQ(spec->include[1].text, "Gemm");
}

TEST(Selection, OptionsWinOverTheConfig) {
  CaptureOptions options;
  options.config = *spec_from_json(R"({"steps": "1", "payload": "full", "include": ["a"], "strict": true, "out": "x"})", "c.json");
  options.steps = "2";
  options.ops = {"b"};
  const Result<CaptureSpec> spec = spec_from_options(options);
  EXPECT_EQ(spec->steps.to_text(), "2");
  EXPECT_EQ(spec->payload, Payload::kFull);
  ASSERT_EQ(spec->include.size(), 1U);
  EXPECT_EQ(spec->include[0].text, "b");
  EXPECT_TRUE(spec->strict);
  EXPECT_EQ(spec->out, "x");
}

TEST(Selection, StepsMayBeTheCallsOfModules) {
  CaptureOptions options;
  options.config = *spec_from_json(R"({"step_at": "Model"})", "c.json");
  EXPECT_EQ(spec_from_options(options)->step_at, "Model");
  options.step_at = "^Engine[.]model$";
  EXPECT_EQ(spec_from_options(options)->step_at, "^Engine[.]model$");
  for (const char* wrong : {"", "("}) {
    options.step_at = wrong;
    EXPECT_TRUE(spec_from_options(options).status().message().starts_with("--step-at: ")) << wrong;
  }
  EXPECT_FALSE(spec_from_json(R"({"step_at": "("})", "c.json").ok());
}

TEST(Selection, SketchesWinOverTheConfigOneByOne) {
  CaptureOptions options;
  options.config = *spec_from_json(R"({"sketch": {"channels": 3, "blocks": 16}})", "c.json");
  options.channels = " -1";
  const Result<CaptureSpec> spec = spec_from_options(options);
  EXPECT_EQ(spec->sketch_axis, -1);
  EXPECT_EQ(spec->sketch_block, 16U);
}

TEST(Selection, WhatIsWrongNamesItsOption) {
  CaptureOptions both;
  both.stats = true;
  both.tensors = true;
  EXPECT_TRUE(problem(both).starts_with("--stats and --tensors exclude each other"));
  CaptureOptions steps;
  steps.steps = "5-3";
  EXPECT_TRUE(problem(steps).starts_with("--steps: the steps \"5-3\" are the wrong way round")) << problem(steps);
  CaptureOptions slots;
  slots.slots = "foo";
  EXPECT_EQ(problem(slots), "--slots: \"foo\" is not a slot; write in, out or in,out");
  CaptureOptions types;
  types.types = {"A,,B"};
  EXPECT_TRUE(problem(types).starts_with("--types: \"A,,B\" has an empty part"));
  CaptureOptions where;
  where.where = "nann > 0";
  EXPECT_TRUE(problem(where).starts_with("--where: column 1: there is no \"nann\". Did you mean \"nan\"")) << problem(where);
  for (const std::string budget : {"0", "0%", "200%", "-1%", "3", "x", "", "nan%", "inf"}) {
    CaptureOptions options;
    options.budget = budget;
    EXPECT_TRUE(problem(options).starts_with("--budget: \"" + budget)) << budget << problem(options);
  }
  for (const std::string bytes : {"0", "x", "-1", "4 parsecs", ""}) {
    CaptureOptions options;
    options.max_bytes = bytes;
    EXPECT_TRUE(problem(options).starts_with("--max-bytes: \"" + bytes)) << bytes << problem(options);
  }
  for (const std::string count : {"0", "-1", "1.5", ""}) {
    CaptureOptions options;
    options.stop_after = count;
    EXPECT_TRUE(problem(options).starts_with("--stop-after: ")) << count;
  }
  for (const std::string axis : {"x", "", "1.5", "32", "-33"}) {
    CaptureOptions options;
    options.channels = axis;
    EXPECT_TRUE(problem(options).starts_with("--channels: \"" + axis + "\" is not an axis")) << axis;
  }
  for (const std::string blocks : {"x", "", "0", "17", "64"}) {
    CaptureOptions options;
    options.blocks = blocks;
    EXPECT_TRUE(problem(options).starts_with("--blocks: \"" + blocks + "\" is not a size of blocks")) << blocks;
  }
  CaptureOptions ops;
  ops.ops = {""};
  EXPECT_TRUE(problem(ops).starts_with("--ops: "));
}

TEST(Selection, AWrongExpressionOfOpsIsSaidByThePlan) {
  CaptureOptions options;
  options.ops = {"a(b"};
  const auto plan = CapturePlan::compile(*spec_from_options(options));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(), "--ops: the regular expression \"a(b\" is wrong at column 1: missing ): a(b (RE2 syntax)");
}

}  // namespace
}  // namespace tensortap
