// docs/capture_config.md describes what the code does.

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "plan/spec_keys.h"
#include "plan/where.h"

namespace tensortap {
namespace {

std::string the_page() {
  const Result<std::string> text = read_file(TENSORTAP_TESTDATA "/../docs/capture_config.md");
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

// The lines of the n-th block in three backticks.
std::string block(const std::string& page, int n) {
  size_t at = 0;
  for (int i = 0; i < 2 * n + 1; ++i) at = page.find("```", at) + 3;
  at = page.find('\n', at) + 1;
  return page.substr(at, page.find("```", at) - at);
}

TEST(CaptureConfigPage, HasARowForEveryKey) {
  const std::string page = the_page();
  for (const ConfigKey& key : spec_keys()) {
    const std::string row =
        concat("| `", key.name, "` | ", key.type, " | ", key.values, " | `", key.default_value, "` | ", key.meaning, " |\n");
    EXPECT_NE(page.find(row), std::string::npos) << "missing or out of date:\n" << row;
  }
  for (const ConfigKey& key : selector_keys()) {
    const std::string row = concat("| `", key.name, "` | ", key.type, " | ", key.values, " | ", key.meaning, " |\n");
    EXPECT_NE(page.find(row), std::string::npos) << "missing or out of date:\n" << row;
  }
}

TEST(CaptureConfigPage, ItsExampleIsAConfigOfThisRelease) {
  const Result<CaptureSpec> spec = spec_from_json(block(the_page(), 0), "example");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_TRUE(CapturePlan::compile(*spec).ok());
}

TEST(CaptureConfigPage, ItsConditionsAreConditions) {
  size_t conditions = 0;
  const std::string examples = block(the_page(), 1);
  for (const std::string_view line : split(trim(examples), '\n')) {
    const auto parsed = WhereExpression::parse(line);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    ++conditions;
  }
  EXPECT_EQ(conditions, 4U);
}

TEST(CaptureConfigPage, ItsErrorIsTheRealOne) {
  const auto parsed = WhereExpression::parse("abmax > 1");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(block(the_page(), 3), parsed.status().message() + "\n");
}

}  // namespace
}  // namespace tensortap
