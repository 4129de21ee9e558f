// tensortap_check_config() on dump configs of AscendCL, held against what the real system answers (tests/golden/acl_json).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <tensortap/capture.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Answer {
  int status = 0;
  Json report;

  [[nodiscard]] std::string error() const { return report.at("error").is_null() ? "" : report.at("error").get<std::string>(); }
};

Answer check(const std::string& text, const char* dialect = "acl", const char* name = "acl.json") {
  char* report = nullptr;
  Answer answer;
  answer.status = tensortap_check_config(text.c_str(), name, dialect, &report);
  answer.report = Json::parse(report == nullptr ? "{}" : report, nullptr, false);
  tensortap_free(report);
  return answer;
}

class AclConfig : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"ASCEND_DUMP_SCENE", "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH", "NPU_COLLECT_PATH"}) unsetenv(name);
    folder_ = testing::TempDir() + concat("acl_config_", getpid());
    std::filesystem::create_directories(folder_ + "/dump");
  }
  void TearDown() override {
    for (const char* name : {"ASCEND_DUMP_SCENE", "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH", "NPU_COLLECT_PATH"}) unsetenv(name);
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string dir() const { return folder_ + "/dump"; }
  // A config with these members beside a dump_path that exists.
  [[nodiscard]] std::string config(const std::string& members) const {
    return concat("{\"dump\": {\"dump_path\": ", quote(dir()), members.empty() ? "" : ", ", members, "}}");
  }

  std::string folder_;
};

// What the table calls the kinds.
std::string kind_in_table(const std::string& kind) {
  if (kind == "model" || kind == "single-op") return "operator";
  return kind == "watch" ? "watcher" : kind;
}

// A15: every combination that the real system refuses, with its numbers, and every one that it takes.
TEST_F(AclConfig, IsTakenAndRefusedAsByTheRealSystem) {
  const Result<std::string> table = read_file(TENSORTAP_TESTDATA "/golden/acl_json/table.json");
  ASSERT_TRUE(table.ok()) << table.status().message();
  size_t cases = 0;
  const Json rows = Json::parse(*table);
  for (const Json& row : rows) {
    if (row.at("text").is_null()) continue;  // the code that reads files handles a missing file
    auto text = row.at("text").get<std::string>();
    for (size_t at = text.find("{dir}"); at != std::string::npos; at = text.find("{dir}")) text.replace(at, 5, dir());
    const Answer answer = check(text);
    SCOPED_TRACE(concat(row.at("id").get<std::string>(), ": ", answer.error()));
    ++cases;
    EXPECT_EQ(answer.report.at("code"), row.at("set_dump"));
    EXPECT_EQ(answer.report.at("init_code"), row.at("init"));
    const bool taken = row.at("verdict") == "accept";
    EXPECT_EQ(answer.status, taken ? TENSORTAP_OK : TENSORTAP_INVALID_ARGUMENT);
    if (taken) {
      EXPECT_EQ(answer.report.at("captures"), row.at("dumps"));
      EXPECT_EQ(kind_in_table(answer.report.at("kind")), row.at("kind").get<std::string>());
    } else {
      EXPECT_THAT(answer.error(), StartsWith("acl.json:"));
      EXPECT_THAT(answer.error(), HasSubstr(row.contains("ep") ? concat("(", row.at("ep").get<std::string>(), ", ") : ""));
    }
  }
  EXPECT_EQ(cases, 89U);
}

TEST_F(AclConfig, ReportSaysWhatIsAskedFor) {
  Answer model = check(config(R"("dump_list": [{}], "dump_op_switch": "on")"));
  EXPECT_EQ(model.report.at("spec").at("layout"), "ge") << "the same in our own language";
  model.report.erase("spec");
  EXPECT_EQ(model.report, Json({{"error", nullptr},
                                {"code", 0},
                                {"init_code", 0},
                                {"dialect", "acl"},
                                {"captures", true},
                                {"kind", "model"},
                                {"models", true},
                                {"operators", true},
                                {"scene", ""},
                                {"layout", "ge"},
                                {"out", dir()}}));
  const Json single = check(config(R"("dump_op_switch": "on")")).report;
  EXPECT_EQ(single.at("kind"), "single-op");
  EXPECT_EQ(single.at("models"), false);
  EXPECT_EQ(check(config(R"("dump_list": [{}])")).report.at("operators"), false);
  EXPECT_EQ(check(config(R"("dump_debug": "on")")).report.at("operators"), true);
  EXPECT_EQ(check(R"({"dump": {"dump_scene": "lite_exception"}})").report.at("scene"), "brief");
  EXPECT_EQ(check(R"({"dump": {"dump_scene": "aic_err_detail_dump"}})").report.at("scene"), "detail");
  EXPECT_EQ(check("").report.at("kind"), "none");
  EXPECT_EQ(check("[]").report.at("kind"), "none");
}

TEST_F(AclConfig, OtherLanguagesAreRecognised) {
  EXPECT_EQ(check("{}", "").report.at("dialect"), "tensortap");
  EXPECT_EQ(check(R"({"levels": ["module"]})", "").error(), "") << "some sources report calls of modules";
  EXPECT_EQ(check(config(R"("dump_list": [{}])"), "").report.at("dialect"), "acl");
  const Answer wrong = check(R"({"stepps": 1})", nullptr, nullptr);
  EXPECT_EQ(wrong.report.at("code"), 0);
  EXPECT_THAT(wrong.error(), StartsWith("config:1:2: stepps"));
  EXPECT_THAT(check("{}", "klingon").error(), HasSubstr("no config language \"klingon\""));
  EXPECT_THAT(check(R"({"trigger": "overflow", "watchers": ["a"]})", "").error(), HasSubstr("contradicts"));
  EXPECT_EQ(tensortap_check_config(nullptr, nullptr, nullptr, nullptr), TENSORTAP_OK);
}

TEST_F(AclConfig, FilesThatNoConfigIsAreRefused) {
  const Answer deep = check(std::string(200, '[') + std::string(200, ']'));
  EXPECT_EQ(deep.report.at("code"), 100006);
  EXPECT_THAT(deep.error(), HasSubstr("more than 10 brackets"));
  EXPECT_EQ(check("{\"a\": " + std::string(10, '[') + std::string(10, ']') + "}").report.at("code"), 0);
  const Answer large = check("{\"a\": \"" + std::string(size_t{10} << 20, 'x') + "\"}");
  EXPECT_EQ(large.report.at("code"), 100003);
  EXPECT_EQ(large.report.at("init_code"), 100003);
  EXPECT_EQ(check("{\"a\": \"" + std::string((size_t{10} << 20) - 9, 'x') + "\"}").report.at("code"), 0);
}

TEST_F(AclConfig, LargeListsAndLongNamesAreRead) {
  std::string layers;
  while (layers.size() < (size_t{1} << 20)) layers += concat("\"", std::string(300, 'n'), layers.size(), "\",");
  EXPECT_EQ(check(config(concat(R"("dump_list": [{"layer": [)", layers, "\"last\"]}]"))).report.at("kind"), "model");
  std::string entries;
  for (int i = 0; i < 101; ++i) entries += concat(i == 0 ? "" : ", ", R"({"name": "t", "pos": ["input0"]})");
  for (const char* key : {"optype_blacklist", "opname_blacklist"}) {
    const Answer many = check(config(concat(R"("dump_level": "op", "dump_list": [{")", key, "\": [", entries, "]}]")));
    EXPECT_EQ(many.report.at("code"), 100009);
    EXPECT_THAT(many.error(), HasSubstr("has 101 entries; the most are 100 (EP0003,"));
    EXPECT_THAT(many.error(), HasSubstr(key));
  }
}

TEST_F(AclConfig, PathsHoldEveryCharacter) {
  std::string odd = folder_ + "/";
  for (int c = 1; c < 128; ++c) {
    if (c != '/') odd += static_cast<char>(c);
  }
  odd += "\xc3\xa9\xe6\xbc\xa2";
  std::filesystem::create_directories(odd);
  const Answer answer = check(to_json_text({{"dump", {{"dump_path", odd}, {"dump_op_switch", "on"}}}}));
  EXPECT_EQ(answer.error(), "");
  EXPECT_EQ(answer.report.at("out"), odd);
  EXPECT_THAT(check(to_json_text({{"dump", {{"dump_path", dir() + std::string(1, '\0') + "x"}}}})).error(), HasSubstr("zero byte"));
}

// A12
TEST_F(AclConfig, TheEnvironmentDecidesWhereAnExceptionDumpGoes) {
  const std::string exception = R"({"dump": {"dump_scene": "lite_exception", "dump_path": "from_config"}})";
  EXPECT_EQ(check(exception).report.at("out"), "from_config");
  EXPECT_EQ(check(R"({"dump": {"dump_scene": "lite_exception"}})").report.at("out"), ".");
  setenv("ASCEND_WORK_PATH", "/from/work", 1);
  EXPECT_EQ(check(exception).report.at("out"), "/from/work");
  setenv("ASCEND_DUMP_PATH", "/from/dump", 1);
  EXPECT_EQ(check(exception).report.at("out"), "/from/dump");
  EXPECT_EQ(check(config(R"("dump_list": [{}])")).report.at("out"), dir());
  EXPECT_EQ(check(config(R"("dump_debug": "on")")).report.at("out"), dir());
  setenv("NPU_COLLECT_PATH", "/from/collect", 1);
  EXPECT_EQ(check(exception).report.at("out"), "/from/collect");
  EXPECT_EQ(check(config(R"("dump_list": [{}])")).report.at("kind"), "model");
  EXPECT_EQ(check("{}").report.at("kind"), "exception");
  setenv("ASCEND_DUMP_SCENE", "aic_err_brief_dump", 1);
  EXPECT_EQ(check("{}").report.at("out"), "/from/dump");
  unsetenv("NPU_COLLECT_PATH");
  setenv("ASCEND_DUMP_SCENE", "watcher", 1);
  EXPECT_EQ(check("{}").report.at("kind"), "none");
}

}  // namespace
}  // namespace tensortap
