#include "system/torchair/config/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "plan/capture_plan.h"

namespace tensortap::torchair {
namespace {

using testing::HasSubstr;

CaptureSpec spec_of(std::string_view text) {
  Result<CaptureSpec> spec = parse_config(text, "t.json", {});
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *std::move(spec) : CaptureSpec();
}

std::string error_of(std::string_view text) {
  const Result<CaptureSpec> spec = parse_config(text, "t.json", {});
  EXPECT_FALSE(spec.ok()) << text;
  return spec.status().message();
}

TEST(TorchAirDialect, KeepsEverythingUnlessToldOtherwise) {
  const CaptureSpec spec = spec_of(R"({"torchair": {}})");
  EXPECT_EQ(spec.layout, "ge");
  EXPECT_TRUE(spec.include.empty());
  EXPECT_TRUE(spec.inputs && spec.outputs);
  EXPECT_EQ(spec.payload, Payload::kTensor);
  EXPECT_TRUE(spec.steps.is_all());
  EXPECT_TRUE(CapturePlan::compile(spec).ok());
}

TEST(TorchAirDialect, TranslatesEveryOption) {
  const CaptureSpec spec = spec_of(R"({"torchair": {"enable_dump": true, "dump_path": "/tmp", "dump_mode": "output", "dump_step": "0|2-3",
      "dump_layer": " Add  Mul_1", "scope": ["fn.0/add"], "dump_data": "stats", "quant_dumpable": true}})");
  EXPECT_EQ(spec.out, "/tmp");
  EXPECT_FALSE(spec.inputs);
  EXPECT_TRUE(spec.outputs);
  EXPECT_EQ(spec.steps.to_text(), "0,2-3");
  EXPECT_EQ(spec.payload, Payload::kStatistics);
  ASSERT_EQ(spec.include.size(), 3U);
  EXPECT_EQ(spec.include[0].text, "Add");
  EXPECT_EQ(spec.include[1].text, "Mul_1");
  EXPECT_EQ(spec.include[2].text, "fn.0/add");
  EXPECT_TRUE(spec.include[2].optional) << "names that no graph has are said, and no error";
}

TEST(TorchAirDialect, CapturesNothingWhenItIsOff) {
  EXPECT_TRUE(spec_of(R"({"torchair": {"enable_dump": false, "dump_layer": "Add"}})").steps.is_never());
}

TEST(TorchAirDialect, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("{\"torchair\": {\n \"dump_mode\": \"inputs\"}}"),
            "t.json:2:2: torchair.dump_mode: \"inputs\" is not one of \"input\", \"output\" or \"all\"");
  EXPECT_THAT(error_of(R"({"torchair": {"dump_path": "/no/such/folder"}})"), HasSubstr("is no folder; make it first"));
  EXPECT_THAT(error_of(R"({"torchair": {"dump_step": "1--6"}})"), HasSubstr("names no steps"));
  EXPECT_THAT(error_of(R"({"torchair": {"dump_layer": "Add|Mul"}})"), HasSubstr("holds \"|\""));
  EXPECT_THAT(error_of(R"({"torchair": {"scope": "Add"}})"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(error_of(R"({"torchair": 3})"), HasSubstr("must be an object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no object \"torchair\""));
}

TEST(TorchAirDialect, NotesARangeThatSelectsNothing) {
  const CaptureSpec spec = spec_of(R"({"torchair": {"dump_step": "5-3"}})");
  EXPECT_TRUE(spec.steps.is_never());
  ASSERT_EQ(spec.notes.size(), 1U);
  EXPECT_THAT(spec.notes[0], HasSubstr("t.json:1:15: dump_step: \"5-3\" is the wrong way round"));
}

TEST(TorchAirPage, HasARowForEveryKeyInTheirOrder) {
  const Result<std::string> page = read_file(TENSORTAP_TESTDATA "/../docs/dialects/torchair.md");
  ASSERT_TRUE(page.ok());
  size_t at = 0;
  for (const ConfigKey& key : keys()) {
    const std::string default_value = concat("`", key.default_value, "`");
    const std::string row = concat("| `", key.name, "` | ", key.type, " | ", key.values, " | ", default_value, " | ", key.meaning, " |\n");
    const size_t found = page->find(row);
    EXPECT_NE(found, std::string::npos) << "missing or out of date:\n" << row;
    EXPECT_LE(at, found) << "out of order: " << key.name;
    at = found;
  }
}

}  // namespace
}  // namespace tensortap::torchair
