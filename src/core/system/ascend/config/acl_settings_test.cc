#include "system/ascend/config/acl_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "system/ascend/config/dump_path.h"
#include "system/ascend/config/steps.h"

namespace tensortap::ascend {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The error of a config whose line 2 holds the members of "dump", "" when there is none.
std::string acl_problem(std::string_view members) {
  const Result<Settings> settings = read_settings(concat("{\"dump\": {\n", members, "}}"), "acl.json", false);
  if (settings.ok()) return "";
  EXPECT_EQ(settings.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(settings.status().foreign_code(), 100009) << settings.status().message();
  return settings.status().message();
}

std::string with_path(std::string_view members) { return concat(R"("dump_path": "/tmp", )", members); }

TEST(AclSettings, EveryKeyOfAWrongTypeIsRefusedWithItsPlace) {
  for (const ConfigKey& key : keys()) {
    for (const std::string_view value : {"null", "5", "true", "{}", "[5]", "[[\"a\"]]", "\"\\u0000\"", "[null]"}) {
      const std::string message = acl_problem(concat("\"", key.name, "\": ", value));
      const bool right_type = key.type == "text" && value.front() == '"';
      const bool any_text = right_type && key.name == "dump_step";  // the missing path is found before
      EXPECT_THAT(message, StartsWith(any_text ? "acl.json:1:2: dump.dump_path: is missing" : "acl.json:2:")) << key.name << " = " << value;
      EXPECT_THAT(message, HasSubstr(any_text ? "" : concat("dump.", key.name))) << value;
      EXPECT_THAT(message, HasSubstr(right_type ? "(EP000" : "(EP0001, AscendCL error 100009)")) << key.name << " = " << value;
    }
  }
}

TEST(AclSettings, WordsAreHeldAgainstTheirKeys) {
  EXPECT_EQ(acl_problem(with_path(R"("dump_mode": "outputs")")),
            "acl.json:2:22: dump.dump_mode: \"outputs\" is not one of \"input\", \"output\" or \"all\". Did you mean \"output\"? "
            "(EP0002, AscendCL error 100009)");
  for (const std::string_view key :
       {"dump_mode", "dump_level", "dump_op_switch", "dump_data", "dump_debug", "dump_scene", "dump_kernel_data"}) {
    EXPECT_THAT(acl_problem(with_path(concat("\"", key, "\": \"\""))), HasSubstr("is empty; use"));
    EXPECT_THAT(acl_problem(with_path(concat("\"", key, "\": \"Output\""))), HasSubstr("EP0002"));
  }
  EXPECT_THAT(acl_problem(with_path(R"("dump_kernel_data": "printf,,all")")), HasSubstr("EP0001"));
  EXPECT_THAT(acl_problem(with_path(R"("dump_kernel_data": "printf, all")")), HasSubstr("\" all\" is not one of"));
  EXPECT_THAT(acl_problem(with_path(R"("dump_data": "stats", "dump_stats": ["Max", "max"])")),
              HasSubstr("dump_stats[1]: \"max\" is not one of"));
}

// The first fault in AscendCL's order is reported.
TEST(AclSettings, FaultsAreFoundInOrder) {
  const std::pair<std::string_view, std::string_view> steps[] = {
      {R"("dump_stats": [5])", "dump_stats[0]: must be a text"},
      {R"("dump_mode": "x")", "dump_mode: \"x\" is not one of"},
      {R"("dump_scene": "watcher", "dump_debug": "on")", "dump_debug: \"on\" contradicts \"dump_scene\": \"watcher\""},
      {R"("dump_path": "/no/such/folder")", "dump_path: \"/no/such/folder\" does not exist"},
      {R"("dump_step": "1-")", "dump_step: \"1-\" is no step"},
      {R"("dump_list": [{"layer": []}])", "dump_list[0].layer: is empty"},
      {R"("dump_stats": [])", "dump_stats: is empty"},
  };
  for (size_t first = 0; first < std::size(steps); ++first) {
    for (size_t second = first + 1; second < std::size(steps); ++second) {
      std::string members = concat(steps[second].first, ", ", steps[first].first);
      // A key that occurs twice would hide the other fault.
      if (first != 3 && second != 3) members += ", \"dump_path\": \"/tmp\"";
      if (first == 0 && second == 6) continue;
      EXPECT_THAT(acl_problem(members), HasSubstr(steps[first].second)) << members;
    }
  }
}

TEST(AclSettings, ItemsAreCheckedInOrder) {
  const auto in_list = [](std::string_view item) { return with_path(concat("\"dump_list\": [{", item, "}]")); };
  EXPECT_THAT(acl_problem(in_list(R"("model_name": "", "layer": [])")), HasSubstr("model_name: is empty"));
  EXPECT_THAT(acl_problem(in_list(R"("layer": [], "watcher_nodes": ["a"])")), HasSubstr("layer: is empty"));
  EXPECT_THAT(acl_problem(in_list(R"("watcher_nodes": ["a"], "optype_blacklist": [{}])")), HasSubstr("watcher_nodes: belongs to"));
  EXPECT_THAT(acl_problem(in_list(R"("optype_blacklist": [{}])")), HasSubstr("needs \"dump_level\": \"op\""));
  EXPECT_THAT(acl_problem(in_list(R"("opname_range": [{}])")), HasSubstr("opname_range: needs \"dump_level\""));
  EXPECT_EQ(acl_problem(in_list(R"("opname_range": [], "optype_blacklist": [], "watcher_nodes": [])")), "");
  const auto at_op = [&](std::string_view item) { return concat(R"("dump_level": "op", )", in_list(item)); };
  EXPECT_THAT(acl_problem(at_op(R"("opname_range": [{}])")), HasSubstr("dump_list[0].model_name: is missing or empty"));
  EXPECT_THAT(acl_problem(at_op(R"("model_name": "m", "opname_range": [{"begin": "a", "end": "b"}, {"begin": "a"}])")),
              HasSubstr("opname_range[1]: needs \"begin\" and \"end\", both with the name of an op (EP0003"));
  const std::string watcher = R"("dump_scene": "watcher", )";
  EXPECT_THAT(acl_problem(watcher + in_list(R"("layer": ["a"])")), HasSubstr("dump_list[0].watcher_nodes: is missing"));
  EXPECT_THAT(acl_problem(watcher + in_list(R"("watcher_nodes": ["a"], "model_name": "m")")), HasSubstr("EP0005"));
}

TEST(AclSettings, DumpPaths) {
  EXPECT_EQ(check_dump_path("/tmp").problem, "");
  EXPECT_THAT(check_dump_path("/tmp/no/such").problem, HasSubstr("does not exist; create it"));
  EXPECT_THAT(check_dump_path("/etc/passwd").problem, HasSubstr("is no folder"));
  EXPECT_THAT(check_dump_path("/" + std::string(512, 'a')).problem, HasSubstr("has 513 characters"));
  EXPECT_EQ(check_dump_path("/tmp" + std::string(508, '/')).problem, "");
  EXPECT_EQ(check_dump_path("1.2.3.4:a").folder, "a");
  EXPECT_EQ(check_dump_path(" 1.+2.3x.004:a:b").folder, "a:b");
  EXPECT_THAT(check_dump_path("1.2.3.256:a").problem, HasSubstr("does not exist"));
  EXPECT_THAT(check_dump_path("1.2.3:a").problem, HasSubstr("does not exist"));
  EXPECT_THAT(check_dump_path("1.2.3.99999999999999999999:a").problem, HasSubstr("does not exist"));
  EXPECT_THAT(check_dump_path("1.2.3.4:").problem, HasSubstr("has no path after the address"));
  EXPECT_THAT(check_dump_path("1.2.3.4:a b").problem, HasSubstr("may not hold \" \" after the address"));
}

TEST(AclSettings, Steps) {
  EXPECT_TRUE(parse_steps("").steps.is_all());
  EXPECT_EQ(parse_steps("0|3-5|10").steps.to_text(), "0,3-5,10");
  EXPECT_EQ(parse_steps("007-7").steps.to_text(), "7");
  EXPECT_EQ(parse_steps("99999999999999999999999").problem, "");
  for (const std::string_view wrong : {"|", "1|", "1-", "-1", "1--2", "1-2-3", " 1", "1 |2", "a", "1|2|x", "+1", "0x1"}) {
    EXPECT_THAT(parse_steps(wrong).problem, HasSubstr("is no step")) << wrong;
  }
  EXPECT_THAT(parse_steps("5-3").problem, HasSubstr("the wrong way round"));
  std::string hundred = "1";
  for (int i = 1; i < 100; ++i) hundred += "|1";
  EXPECT_EQ(parse_steps(hundred).problem, "");
  EXPECT_THAT(parse_steps(hundred + "|1").problem, HasSubstr("has 101 parts"));
}

}  // namespace
}  // namespace tensortap::ascend
