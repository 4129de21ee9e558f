#include "system/mindspore/tree/metadata_files.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::mindspore {
namespace {

TEST(MetadataFiles, TheMinimalConfigSaysWhatTheSpecSays) {
  CaptureSpec spec;
  spec.out = "/dumps/x";
  spec.payload = Payload::kStatistics;
  spec.steps = *StepSet::parse("0,3-5,10-");
  spec.inputs = true;
  spec.outputs = false;
  OpSelector type;
  type.kind = OpSelector::Kind::kType;
  type.text = "Conv";
  OpSelector regex;
  regex.kind = OpSelector::Kind::kNameFullRegex;
  regex.text = ".*\\d";
  spec.include = {type, regex};
  const auto config = parse_json(minimal_config_text(spec, "Net", "max,l2norm"), "config");
  ASSERT_TRUE(config.ok()) << config.status().message();
  const auto expected = parse_json(R"json({"common_dump_settings": {"dump_mode": 1, "path": "/dumps/x", "net_name": "Net",
      "iteration": "0|3-5|10-4294967295", "saved_data": "statistic", "input_output": 1, "kernels": ["Conv", "name-regex(.*\\d)"],
      "support_device": [0, 1, 2, 3, 4, 5, 6, 7], "op_debug_mode": 0, "statistic_category": ["max", "l2norm"]},
      "e2e_dump_settings": {"enable": true, "trans_flag": true}})json",
                                   "expected");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_EQ(*config, *expected);
  spec = CaptureSpec();
  spec.payload = Payload::kTensor;
  const auto whole = parse_json(minimal_config_text(spec, "n", ""), "config");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->at("common_dump_settings").at("iteration"), "all");
  EXPECT_EQ(whole->at("common_dump_settings").at("dump_mode"), 0);
  EXPECT_EQ(whole->at("common_dump_settings").at("input_output"), 2);
}

TEST(MetadataFiles, AttributesAreTextsSorted) {
  EXPECT_EQ(attributes_text(R"({"b": false, "a": [1, [2, "x"]], "n": 3, "f": 0.25, "s": "t"})"),
            "{\n    \"a\": \"(1, (2, x))\",\n    \"b\": \"False\",\n    \"f\": \"0.25\",\n    \"n\": \"3\",\n    \"s\": \"t\"\n}");
  EXPECT_EQ(attributes_text(""), "null");
  EXPECT_EQ(attributes_text("{}"), "null");
  EXPECT_EQ(attributes_text("not json"), "null");
  EXPECT_EQ(attributes_file_name("Default/net.1/Conv-op3"), "Conv.Default_net_1_Conv-op3.json");
  EXPECT_EQ(attributes_file_name("x/../y\n"), "y_.x____y_.json");
}

// M16
TEST(MetadataFiles, AnOverflowRecordIsOneLineOfSortedJson) {
  OverflowRecord record;
  record.ai_core = {1, 2, 3, 4, 0x12c1, 0xff, 8};
  record.kernel_code = 0xabc;
  record.block_idx = 5;
  EXPECT_EQ(overflow_file_name(3, 2, 1700000000000000, 0), "Opdebug.Node_OpDebug.3.2.1700000000000000.output.0.json");
  EXPECT_EQ(
      overflow_text(record),
      R"({"AI Core":{"block_idx":5,"kernel_code":"0xabc","model_id":1,"para_base":"0xff","pc_start":"0x12c1","status":8,"stream_id":2,"task_id":3,"task_type":4},)"
      R"("DHA Atomic Add":{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,"stream_id":0,"task_id":0,"task_type":0},)"
      R"("L2 Atomic Add":{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,"stream_id":0,"task_id":0,"task_type":0}})");
}

TEST(MetadataFiles, ConfigOfTheDevice) {
  EXPECT_EQ(device_config_text(*parse_profile("mindspore-2.10/cpu")), "{\"device_target\":\"CPU\",\"ms_version\":\"2.10.0\"}");
  EXPECT_EQ(device_config_text(*parse_profile("mindspore-2.0/gpu")), "{\"device_target\":\"GPU\",\"ms_version\":\"2.0.0\"}");
}

}  // namespace
}  // namespace tensortap::mindspore
