// docs/dialects/mindspore.md agrees with the code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "system/mindspore/config/dialect.h"
#include "system/mindspore/config/settings.h"
#include "system/mindspore/statistics.h"

namespace tensortap::mindspore {
namespace {

using testing::HasSubstr;

std::string the_page() {
  const Result<std::string> text = read_file(TENSORTAP_TESTDATA "/../docs/dialects/mindspore.md");
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(MindsporePage, HasARowForEveryKeyInTheirOrder) {
  const std::string page = the_page();
  size_t at = 0;
  for (const ConfigKey& key : keys()) {
    const std::string default_value = key.default_value.empty() ? "required" : concat("`", key.default_value, "`");
    const std::string row =
        concat("| `", key.name, "` | ", key.type, " | ", key.values, " | ", default_value, " | ", key.since, " | ", key.meaning, " |\n");
    const size_t found = page.find(row);
    EXPECT_NE(found, std::string::npos) << "missing or out of date:\n" << row;
    EXPECT_LT(at, found) << "out of order: " << key.name;
    at = found;
  }
}

TEST(MindsporePage, NamesEveryStatisticAndProfile) {
  const std::string page = the_page();
  for (const Category& category : categories()) EXPECT_THAT(page, HasSubstr(concat("`", category.item, "`")));
  for (const Release& release : releases()) EXPECT_THAT(page, HasSubstr(concat("| ", release.name, " |")));
}

TEST(MindsporePage, ItsExampleIsAConfig) {
  const std::string page = the_page();
  const size_t begin = page.find("```json\n") + 8;
  const std::string text = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_TRUE(recognise_config(text));
  const Result<CaptureSpec> spec = parse_config(text, "example", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->include.size(), 3U);
  EXPECT_TRUE(spec->notes.empty());
  EXPECT_TRUE(CapturePlan::compile(*spec).ok());
}

TEST(MindsporePage, ItsErrorIsTheRealOne) {
  const std::string config =
      "{\"common_dump_settings\": {\n\n\n    \"net_name\": \"a/b\", \"dump_mode\": 0, \"path\": \"/d\", \"iteration\": \"0\","
      "\"input_output\": 0, \"kernels\": [], \"support_device\": [0]}}";
  const Result<CaptureSpec> spec = parse_config(config, "cfg.json", {});
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(the_page(), HasSubstr("`" + spec.status().message() + "`"));
}

}  // namespace
}  // namespace tensortap::mindspore
