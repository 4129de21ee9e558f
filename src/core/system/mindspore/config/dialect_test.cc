#include "system/mindspore/config/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "plan/capture_plan.h"
#include "plan/spec_keys.h"

namespace tensortap::mindspore {
namespace {

using testing::Contains;
using testing::HasSubstr;

Json usual() {
  return *parse_json(R"({"common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "Net", "iteration": "0|2-3", "input_output": 0,
      "kernels": ["Conv", "Default/Add-op1"], "support_device": [0]},
    "e2e_dump_settings": {"enable": true}})",
                     "usual");
}

CaptureSpec spec_of(const Json& config, std::string_view profile = {}) {
  const Result<CaptureSpec> spec = parse_config(config.dump(), "c.json", {.profile = profile, .strict = false});
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *spec : CaptureSpec();
}

TEST(MindsporeDialect, RecognisesItsOwnConfigsOnly) {
  EXPECT_TRUE(recognise_config(usual().dump()));
  EXPECT_TRUE(recognise_config(R"({"common_dump_settings": 3})"));
  EXPECT_TRUE(recognise_config(R"({"e2e_dump_settings": {}})")) << "a mistake that parse has to report";
  EXPECT_FALSE(recognise_config(""));
  EXPECT_FALSE(recognise_config("{}"));
  EXPECT_FALSE(recognise_config("[\"common_dump_settings\"]"));
  EXPECT_FALSE(recognise_config(R"({"dump": {"dump_path": "x"}})"));
  EXPECT_FALSE(recognise_config(R"({"common_dump_settings": )"));
}

// M8
TEST(MindsporeDialect, DevicesComputeStatisticsWhereMindsporeLetsThem) {
  Json config = usual();
  config["e2e_dump_settings"]["stat_calc_mode"] = "device";
  config["common_dump_settings"]["saved_data"] = "statistic";
  const CaptureSpec there = spec_of(config, "mindspore/ascend");
  EXPECT_EQ(there.device_stats, DeviceStats::kKernel);
  EXPECT_THAT(there.notes, Contains(HasSubstr("devices compute")));
  EXPECT_EQ(spec_of(config, "mindspore/gpu").device_stats, DeviceStats::kAuto);
  EXPECT_THAT(spec_of(config, "mindspore/gpu").notes, Contains(HasSubstr("computed on the host")));
  config["common_dump_settings"]["saved_data"] = "full";
  EXPECT_EQ(spec_of(config, "mindspore/ascend").device_stats, DeviceStats::kAuto);
  config["common_dump_settings"]["saved_data"] = "statistic";
  config["e2e_dump_settings"]["stat_calc_mode"] = "host";
  EXPECT_EQ(spec_of(config, "mindspore/ascend").device_stats, DeviceStats::kAuto);
  EXPECT_TRUE(spec_of(config, "mindspore/ascend").notes.empty());
}

TEST(MindsporeDialect, AConfigBecomesASpec) {
  const Json config = usual();
  const CaptureSpec spec = spec_of(config);
  EXPECT_EQ(spec.dialect, "mindspore");
  EXPECT_EQ(spec.layout, "mindspore");
  EXPECT_EQ(spec.profile, "mindspore-2.10/cpu");
  EXPECT_EQ(spec.out, "/d");
  EXPECT_EQ(spec.steps.to_text(), "0,2-3");
  EXPECT_TRUE(spec.include.empty()) << "kernels count in dump_mode 1 only";
  EXPECT_TRUE(spec.inputs && spec.outputs);
  EXPECT_EQ(spec.payload, Payload::kTensor);
  EXPECT_EQ(spec.stats, 0U);
  EXPECT_EQ(spec.trigger, Trigger::kAlways);
  EXPECT_EQ(spec.non_finite, "propagate");
  EXPECT_EQ(spec.sampling.head, 0U);
  EXPECT_TRUE(spec.extras.weights && spec.extras.graph_inputs && spec.extras.graphs && spec.extras.execution_order &&
              spec.extras.constants);
  EXPECT_FALSE(spec.extras.attributes);
  const std::map<std::string, std::string> options = {{"net_name", "Net"}, {"config", config.dump()}};
  EXPECT_EQ(spec.layout_options, options);
  EXPECT_TRUE(spec.notes.empty());
  EXPECT_TRUE(CapturePlan::compile(spec).ok());
}

TEST(MindsporeDialect, KernelsBecomeOptionalSelectors) {
  Json config = usual();
  config["common_dump_settings"]["dump_mode"] = 1;
  const CaptureSpec spec = spec_of(config);
  ASSERT_EQ(spec.include.size(), 2U);
  EXPECT_EQ(spec.include[0].kind, OpSelector::Kind::kScopedType);
  EXPECT_EQ(spec.include[1].text, "Default/Add-op1");
  EXPECT_TRUE(spec.include[1].optional);
  EXPECT_THAT(spec.include[1].origin, testing::StartsWith("c.json:1:"));
}

TEST(MindsporeDialect, InputOutputChoosesSlotsAndParameters) {
  Json config = usual();
  for (const int choice : {0, 1, 2}) {
    config["common_dump_settings"]["input_output"] = choice;
    const CaptureSpec spec = spec_of(config);
    EXPECT_EQ(spec.inputs, choice != 2) << choice;
    EXPECT_EQ(spec.outputs, choice != 1) << choice;
    EXPECT_EQ(spec.extras.weights, choice != 1) << choice;
    EXPECT_EQ(spec.extras.graph_inputs, choice != 1) << choice;
  }
}

TEST(MindsporeDialect, StatisticsFollowTheCategoriesInTheirOrder) {
  Json config = usual();
  Json& common = config["common_dump_settings"];
  common["saved_data"] = "statistic";
  EXPECT_EQ(spec_of(config).layout_options.at("statistic_category"), "max,min,l2norm");
  common["statistic_category"] = {"negative zero count", "md5", "avg", "count"};
  CaptureSpec spec = spec_of(config);
  uint32_t stats = 0;
  for (const char* name : {"negative", "mean"}) stat_from_name(name, stats);
  EXPECT_EQ(spec.stats, stats);
  EXPECT_EQ(spec.payload, Payload::kStatistics);
  EXPECT_EQ(spec.digest, "md5");
  EXPECT_EQ(spec.layout_options.at("statistic_category"), "negative zero count,md5,avg,count");
  common["statistic_category"] = {"hash", "md5", "max"};
  spec = spec_of(config);
  EXPECT_EQ(spec.digest, "sha1");
  EXPECT_EQ(spec.layout_options.at("statistic_category"), "hash:sha1,md5,max");
  EXPECT_TRUE(spec.notes.empty()) << "the layout has both";
  common["statistic_category"] = {"count"};
  EXPECT_NE(spec_of(config).stats, 0U) << "0 would be all of them";
  common["statistic_category"] = Json::array();
  EXPECT_EQ(spec_of(config).layout_options.at("statistic_category"), "");
  common["saved_data"] = "full";
  EXPECT_EQ(spec_of(config).payload, Payload::kFull);
  common["statistic_category"] = {"hash", "md5"};
  EXPECT_TRUE(spec_of(config).notes.empty()) << "with the data there are both";
  common.erase("statistic_category");
  EXPECT_EQ(spec_of(config, "mindspore-2.0").non_finite, "skip-nonfinite");
  EXPECT_EQ(spec_of(config, "mindspore-2.3.0").non_finite, "skip-nonfinite");
  EXPECT_EQ(spec_of(config, "mindspore-2.3.2").non_finite, "propagate");
}

TEST(MindsporeDialect, DebugModesAreTriggers) {
  Json config = usual();
  Json& common = config["common_dump_settings"];
  for (const int mode : {1, 2, 3}) {
    common["op_debug_mode"] = mode;
    common["overflow_number"] = 7;
    common["input_output"] = 2;
    const CaptureSpec spec = spec_of(config);
    EXPECT_EQ(spec.trigger, Trigger::kOverflow) << mode;
    EXPECT_EQ(spec.overflow_ops, OverflowOps::kAll);
    EXPECT_EQ(spec.limits.max_triggers, 7U);
    EXPECT_TRUE(spec.inputs);
  }
  common.erase("overflow_number");
  common["op_debug_mode"] = 4;
  const CaptureSpec spec = spec_of(config);
  EXPECT_EQ(spec.trigger, Trigger::kException);
  EXPECT_TRUE(spec.steps.is_all());
  EXPECT_THAT(spec.notes, Contains(HasSubstr("\"iteration\" has no effect")));
}

TEST(MindsporeDialect, ListedDevicesAreThoseThatCapture) {
  Json config = usual();
  config["common_dump_settings"]["support_device"] = Json::array({3, 1.7, -1, true, 3});
  const CaptureSpec spec = spec_of(config, "mindspore/ascend");
  EXPECT_EQ(spec.devices, (std::vector<uint64_t>{1, 3})) << "whole numbers, as MindSpore makes them";
  EXPECT_TRUE(spec.steps.contains(0));
  EXPECT_THAT(spec.notes, Contains(HasSubstr("does not list device 0")));
  EXPECT_TRUE(spec_of(config, "mindspore/cpu").devices.empty()) << "on a CPU MindSpore does not look";
}

TEST(MindsporeDialect, SamplingNumbersAndAttributes) {
  Json config = usual();
  config["e2e_dump_settings"]["sample_mode"] = 1;
  EXPECT_EQ(spec_of(config).sampling.head, 100U);
  config["e2e_dump_settings"]["sample_num"] = 5;
  config["e2e_dump_settings"]["save_kernel_args"] = true;
  config["e2e_dump_settings"]["trans_flag"] = false;
  config["common_dump_settings"]["initial_iteration"] = 5;
  const CaptureSpec spec = spec_of(config);
  EXPECT_EQ(spec.sampling.head, 5U);
  EXPECT_EQ(spec.first_step, 5);
  EXPECT_TRUE(spec.extras.attributes);
}

TEST(MindsporeDialect, WhatAsksForNothingCapturesNothingAndSaysSo) {
  Json config = usual();
  config["common_dump_settings"]["iteration"] = "3-1|-";
  CaptureSpec spec = spec_of(config);
  EXPECT_TRUE(spec.steps.is_never());
  EXPECT_THAT(spec.notes, Contains(HasSubstr("2 parts match no iteration, as in MindSpore: \"3-1\" and others")));
  EXPECT_TRUE(CapturePlan::compile(spec).ok());
  EXPECT_THAT(explain(spec), Contains(HasSubstr("No step is captured")));
  config = usual();
  config["common_dump_settings"]["support_device"] = Json::array();
  EXPECT_TRUE(spec_of(config, "mindspore/gpu").steps.is_never());
  EXPECT_FALSE(spec_of(config, "mindspore/cpu").steps.is_never());
  config = usual();
  config["common_dump_settings"]["dump_mode"] = 2;
  for (const char* profile : {"mindspore/ascend", "mindspore/cpu", "mindspore/gpu"}) {
    spec = spec_of(config, profile);
    EXPECT_EQ(spec.trigger, Trigger::kOnRequest);
    EXPECT_TRUE(CapturePlan::compile(spec).ok());
    EXPECT_THAT(spec.notes, Contains(HasSubstr("marks nothing, such as a model file, nothing is kept")));
    EXPECT_THAT(explain(spec), Contains(HasSubstr("only while the program asks for it")));
  }
  EXPECT_EQ(parse_config(config.dump(), "c.json", {.profile = "mindspore/ascend", .strict = true}).status().message(), "");
  EXPECT_THAT(parse_config(config.dump(), "c.json", {.profile = "mindspore/cpu", .strict = true}).status().message(),
              HasSubstr("which MindSpore has on Ascend only"));
}

// M13, M15
TEST(MindsporeDialect, AnAscendDumpOfTheGraphEngineIsAsynchronous) {
  struct Case {
    const char* profile;
    const char* format;
    int op_debug_mode;
    const char* layout;
    const char* form;
  };
  for (const auto& [profile, format, mode, layout, form] : {Case{"mindspore-2.0/ascend", "bin", 0, "ge", "rank"},
                                                            {"mindspore-2.2.15/ascend", "npy", 3, "mindspore", "rank"},
                                                            {"mindspore-2.3.0/ascend", "bin", 0, "ge", "ge"},
                                                            {"mindspore-2.3.2/ascend", "npy", 0, "mindspore", "ge"},
                                                            {"mindspore-2.4/ascend", "npy", 3, "mindspore", "step"},
                                                            {"mindspore-2.4/ascend", "npy", 4, "ge", "step"},
                                                            {"mindspore/ascend", "bin", 3, "ge", "step"},
                                                            {"mindspore/ascend", "", 0, "ge", "step"}}) {
    Json config = usual();
    config.erase("e2e_dump_settings");
    config["common_dump_settings"]["op_debug_mode"] = mode;
    config["common_dump_settings"]["saved_data"] = "tensor";
    if (*format != '\0') config["common_dump_settings"]["file_format"] = format;
    CaptureSpec spec = spec_of(config, profile);
    EXPECT_EQ(spec.layout, layout) << profile << format << mode;
    EXPECT_EQ(spec.layout_options["tree_form"], form) << profile << format << mode;
    EXPECT_EQ(spec.profile.empty(), spec.layout == "ge") << profile << format << mode;
    const auto note = HasSubstr("leaves none any more");
    EXPECT_EQ(std::ranges::any_of(spec.notes, [&](const auto& one) { return testing::Matches(note)(one); }),
              std::string_view(profile) == "mindspore/ascend");
  }
}

// M1
TEST(MindsporeDialect, VariablesChooseTheFoldersOfAnAsynchronousDump) {
  struct Case {
    const char* profile;
    const char* variable;
    const char* form;
  };
  Json config = usual();
  config.erase("e2e_dump_settings");
  for (const auto& [profile, variable, form] : {Case{"mindspore-2.2.15/ascend", "ENABLE_MS_GE_DUMP", "rank"},
                                                {"mindspore-2.3.2/ascend", "ENABLE_MS_GE_DUMP", "ge"},
                                                {"mindspore-2.3.2/ascend", "MS_ACL_DUMP_CFG_PATH", "ops"},
                                                {"mindspore-2.4/ascend", "MS_ACL_DUMP_CFG_PATH", "step"},
                                                {"mindspore-2.5/ascend", "ENABLE_MS_GE_DUMP", "ge"},
                                                {"mindspore-2.6/ascend", "ENABLE_MS_GE_DUMP", "step"}}) {
    ::setenv(variable, "1", 1);
    for (const char* format : {"bin", "npy"}) {
      config["common_dump_settings"]["file_format"] = format;
      EXPECT_EQ(spec_of(config, profile).layout_options["tree_form"], form) << profile << format;
    }
    ::unsetenv(variable);
  }
}

TEST(MindsporeDialect, BesideDumpDataFilesThereAreTheStatisticsOfAscendCL) {
  Json config = usual();
  config.erase("e2e_dump_settings");
  config["common_dump_settings"]["saved_data"] = "full";
  config["common_dump_settings"]["statistic_category"] = {"l2norm", "md5", "max"};
  CaptureSpec spec = spec_of(config, "mindspore/ascend");
  EXPECT_EQ(spec.layout_options["stats_columns"], "L2norm,Max");
  EXPECT_THAT(spec.notes, Contains(HasSubstr("there is no md5")));
}

TEST(MindsporeDialect, TheSpecReachesASourceAsJson) {
  Json config = usual();
  config["common_dump_settings"]["dump_mode"] = 1;
  config["common_dump_settings"]["iteration"] = "9-1";
  CaptureSpec spec = spec_of(config);
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(spec)), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  spec.notes.clear();
  EXPECT_EQ(*again, spec);
}

TEST(MindsporeDialect, AnUnknownProfileIsRefused) {
  EXPECT_THAT(parse_config(usual().dump(), "c.json", {.profile = "mindspore-x"}).status().message(),
              HasSubstr("there is no profile \"mindspore-x\""));
  EXPECT_EQ(*complete_profile("mindspore-2.0"), "mindspore-2.0/cpu");
}

}  // namespace
}  // namespace tensortap::mindspore
