#include "system/tap/dialect.h"

#include <gtest/gtest.h>

namespace tensortap::tap {
namespace {

TEST(TensortapDialect, RecognisesItsOwnConfigsOnly) {
  EXPECT_TRUE(recognise_config(""));
  EXPECT_TRUE(recognise_config(" \n"));
  EXPECT_TRUE(recognise_config("{}"));
  EXPECT_TRUE(recognise_config(R"({"steps": "0", "limits": {}})"));
  EXPECT_TRUE(recognise_config(R"({"tensortap": 1, "stepps": "0"})")) << "a typing mistake is for parse to report";
  EXPECT_FALSE(recognise_config(R"({"dump": {"dump_path": "x"}})"));
  EXPECT_FALSE(recognise_config(R"({"common_dump_settings": {}})"));
  EXPECT_FALSE(recognise_config("[1]"));
  EXPECT_FALSE(recognise_config("{\"steps\": "));
}

TEST(TensortapDialect, ParsesWithPositions) {
  const Result<CaptureSpec> spec = parse_config(R"({"steps": "2-3"})", "c.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->steps.to_text(), "2-3");
  EXPECT_TRUE(parse_config("{\n \"stepps\": 1}", "c.json", {}).status().message().starts_with("c.json:2:2: stepps: "));
}

TEST(TensortapDialect, HasNoProfiles) {
  EXPECT_TRUE(parse_config("{}", "c.json", {.profile = "mindspore-2.10"}).status().message().starts_with("the profile \"mindspore-2.10\""));
}

}  // namespace
}  // namespace tensortap::tap
