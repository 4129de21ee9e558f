// docs/dialects/acl.md agrees with the code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "system/ascend/config/acl_settings.h"
#include "system/ascend/config/dialect.h"
#include "system/ascend/statistics.h"

namespace tensortap::ascend {
namespace {

using testing::HasSubstr;

std::string acl_page() {
  const Result<std::string> text = read_file(TENSORTAP_TESTDATA "/../docs/dialects/acl.md");
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(AclPage, HasARowForEveryKeyInTheirOrder) {
  const std::string page = acl_page();
  size_t at = 0;
  for (const ConfigKey& key : keys()) {
    const std::string default_value = key.default_value.empty() ? "none" : concat("`", key.default_value, "`");
    const std::string row = concat("| `", key.name, "` | ", key.type, " | ", key.values, " | ", default_value, " | ", key.meaning, " |\n");
    const size_t found = page.find(row);
    EXPECT_NE(found, std::string::npos) << "missing or out of date:\n" << row;
    EXPECT_LT(at, found) << "out of order: " << key.name;
    at = found;
  }
}

TEST(AclPage, NamesEveryKeyOfAnItemAndEveryStatistic) {
  const std::string page = acl_page();
  for (const std::string_view key : item_key_names()) EXPECT_THAT(page, HasSubstr(concat("| `", key, "` |")));
  for (const std::string_view name : kStatisticWords) EXPECT_THAT(page, HasSubstr(concat("`", name, "`")));
}

TEST(AclPage, ItsExampleIsAConfig) {
  const std::string page = acl_page();
  const size_t begin = page.find("```json\n") + 8;
  const std::string text = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_TRUE(recognise_config(text));
  const Result<CaptureSpec> spec = parse_config(text, "example", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->include.size(), 4U);
  EXPECT_EQ(spec->exclude.size(), 1U);
  EXPECT_TRUE(spec->notes.empty());
  EXPECT_TRUE(CapturePlan::compile(*spec).ok());
}

TEST(AclPage, ItsErrorIsTheRealOne) {
  const Result<CaptureSpec> spec = parse_config("{\n  \"dump\": {\n\n    \"dump_mode\": \"outputs\"}}", "acl.json", {});
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(acl_page(), HasSubstr("`" + spec.status().message() + "`"));
}

}  // namespace
}  // namespace tensortap::ascend
