#include "dialect/tensortap/dialect.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(TensortapDialect, RecognisesItsOwnConfigsOnly) {
  EXPECT_TRUE(recognise_tensortap(""));
  EXPECT_TRUE(recognise_tensortap(" \n"));
  EXPECT_TRUE(recognise_tensortap("{}"));
  EXPECT_TRUE(recognise_tensortap(R"({"steps": "0", "limits": {}})"));
  EXPECT_TRUE(recognise_tensortap(R"({"tensortap": 1, "stepps": "0"})")) << "a typing mistake is for parse to report";
  EXPECT_FALSE(recognise_tensortap(R"({"dump": {"dump_path": "x"}})"));
  EXPECT_FALSE(recognise_tensortap(R"({"common_dump_settings": {}})"));
  EXPECT_FALSE(recognise_tensortap("[1]"));
  EXPECT_FALSE(recognise_tensortap("{\"steps\": "));
}

TEST(TensortapDialect, ParsesWithPositions) {
  const Result<CaptureSpec> spec = parse_tensortap(R"({"steps": "2-3"})", "c.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->steps.to_text(), "2-3");
  EXPECT_TRUE(parse_tensortap("{\n \"stepps\": 1}", "c.json", {}).status().message().starts_with("c.json:2:2: stepps: "));
}

TEST(TensortapDialect, HasNoProfiles) {
  EXPECT_TRUE(
      parse_tensortap("{}", "c.json", {.profile = "mindspore-2.10"}).status().message().starts_with("the profile \"mindspore-2.10\""));
}

}  // namespace
}  // namespace tensortap
