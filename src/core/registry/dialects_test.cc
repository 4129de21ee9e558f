// The conformance suite that every row of the table of dialects has to pass, over every key that the row describes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "registry/registry.h"
#include "system/mindspore/release.h"

namespace tensortap {
namespace {

using testing::HasSubstr;

// A config of each language that asks for something; the keys under test are put into it.
Json small_config(std::string_view dialect) {
  if (dialect == "acl") return Json::parse(R"({"dump": {"dump_path": "/tmp", "dump_list": [{"model_name": "net"}]}})");
  if (dialect == "mindspore") {
    return Json::parse(R"({"common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "Net", "iteration": "all", "input_output": 0,
                           "kernels": [], "support_device": [0], "op_debug_mode": 0}, "e2e_dump_settings": {"enable": true, "trans_flag": true}})");
  }
  if (dialect == "torchair") return Json::parse(R"({"torchair": {"dump_path": "/tmp", "dump_layer": "Add"}})");
  if (dialect == "msit") return Json::parse(R"({"dump_enable": "true", "ids": "", "child": "true", "er": "0,0", "device": ""})");
  return Json::parse(R"({"tensortap": 1})");
}

class EveryDialect : public testing::TestWithParam<Dialect> {
 protected:
  // Where a key stands: "/common_dump_settings/path", "/limits/max_bytes".
  static Json::json_pointer place_of(const ConfigKey& key) {
    std::string pointer = key.section.empty() ? "" : concat("/", key.section);
    for (const std::string_view part : split(key.name, '.')) pointer += concat("/", part);
    return Json::json_pointer(pointer);
  }
  static Result<CaptureSpec> read(const Json& config) { return read_text(config.dump(1)); }
  static Result<CaptureSpec> read_text(std::string_view text) { return GetParam().parse(text, "c.json", {}); }
  // What was said of a config: an error, or notes.
  static std::string said_of(const Json& config) {
    const Result<CaptureSpec> spec = read(config);
    return spec.ok() ? join(spec->notes, "\n") : spec.status().message();
  }
};

TEST_P(EveryDialect, ReadsItsSmallConfig) {
  const Json config = small_config(GetParam().name);
  EXPECT_TRUE(GetParam().recognise(config.dump()));
  const Result<CaptureSpec> spec = read(config);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->dialect, GetParam().name);
  EXPECT_TRUE(check_target(*spec).ok()) << "it sets options that its layout declares";
}

TEST_P(EveryDialect, DescribesEachKeyOnce) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const ConfigKey& key : GetParam().keys()) {
    EXPECT_TRUE(names.emplace(key.section, key.name).second) << key.name;
    EXPECT_FALSE(key.type.empty()) << key.name;
    EXPECT_TRUE(key.meaning.ends_with('.')) << key.name;
  }
  EXPECT_GT(names.size(), 5U);
}

// A config with the keys that MindSpore needs beside `key`.
Json config_with(std::string_view dialect, const ConfigKey& key, DialectOptions& options) {
  Json config = small_config(dialect);
  if (key.name == "sample_num") config["e2e_dump_settings"]["sample_mode"] = 1;
  if (key.name == "kernels") config["common_dump_settings"]["dump_mode"] = 1;
  if (key.name == "statistic_category") config["common_dump_settings"]["saved_data"] = "full";
  if (key.name == "file_format") {
    config.erase("e2e_dump_settings");
    options.profile = "mindspore-2.10/ascend";
  }
  return config;
}

// msit passes over values of other types, which is said.
TEST_P(EveryDialect, RefusesAValueOfTheWrongTypeAtItsPlace) {
  for (const ConfigKey& key : GetParam().keys()) {
    DialectOptions options;
    Json config = config_with(GetParam().name, key, options);
    config[place_of(key)] = key.type.starts_with("object") ? Json(5) : Json{{"some", "object"}};
    const Result<CaptureSpec> spec = GetParam().parse(config.dump(1), "c.json", options);
    ASSERT_EQ(spec.ok(), GetParam().name == "msit") << key.name;
    EXPECT_TRUE(spec.ok() || spec.status().code() == StatusCode::kInvalidArgument) << key.name;
    const std::string said = spec.ok() ? join(spec->notes, "\n") : spec.status().message();
    const std::string position = std::string(json_position(config.dump(1), place_of(key).to_string()));
    const std::string line = position.substr(0, position.find(':'));
    EXPECT_THAT(said, testing::AnyOf(HasSubstr(concat("c.json:", line, ":")), HasSubstr(concat("c.json:", std::stoi(line) + 1, ":"))))
        << key.name;
    EXPECT_THAT(said, HasSubstr(std::string(key.name))) << key.name;
  }
}

TEST_P(EveryDialect, NamesTheNearestKeyToAMisspeltOne) {
  for (const ConfigKey& key : GetParam().keys()) {
    Json config = small_config(GetParam().name);
    const Json::json_pointer place = place_of(key);
    std::string misspelt = place.back();
    misspelt.insert(misspelt.size() / 2, "q");
    config[place.parent_pointer() / misspelt] = 1;
    EXPECT_THAT(said_of(config), HasSubstr(misspelt)) << key.name;
    EXPECT_THAT(said_of(config), HasSubstr("Did you mean ")) << key.name;
    EXPECT_THAT(said_of(config), HasSubstr(quote(place.back()))) << key.name;
  }
}

TEST_P(EveryDialect, TellsOfAKeyThatStandsTwice) {
  for (const ConfigKey& key : GetParam().keys()) {
    Json config = small_config(GetParam().name);
    if (!config.contains(place_of(key))) continue;
    const std::string name = place_of(key).back();
    std::string text = config.dump();
    const std::string pair = concat(quote(name), ":", config[place_of(key)].dump());
    const size_t at = text.find(pair);
    ASSERT_NE(at, std::string::npos) << key.name;
    text.insert(at, pair + ",");
    const Result<CaptureSpec> spec = read_text(text);
    EXPECT_THAT(spec.ok() ? join(spec->notes, "\n") : spec.status().message(), HasSubstr(quote(name))) << key.name;
  }
}

TEST_P(EveryDialect, RefusesWhatIsNoJsonWithThePlace) {
  for (const std::string_view text : {"{", "{\"dump\": {\n", "[1,", "{\"tensortap\": 1,}", "nonsense"}) {
    const Result<CaptureSpec> spec = read_text(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(spec.status().message(), HasSubstr("c.json")) << text;
  }
}

TEST_P(EveryDialect, HasADocumentThatNamesEveryKey) {
  const bool native = GetParam().name == "tensortap";
  const std::string path = native ? concat(TENSORTAP_TESTDATA, "/../docs/capture_config.md")
                                  : concat(TENSORTAP_TESTDATA, "/../docs/dialects/", GetParam().name, ".md");
  const auto page = read_file(path);
  ASSERT_TRUE(page.ok()) << path;
  for (const ConfigKey& key : GetParam().keys()) EXPECT_THAT(*page, HasSubstr(concat("`", key.name, "`"))) << path;
}

// A config and the tree that is written for it are those of one release.
TEST(Dialects, EveryReleaseOfMindsporeCompletesToItself) {
  const Dialect& dialect = *find_dialect("mindspore");
  for (const mindspore::Release& release : mindspore::releases()) {
    for (const char* device : {"cpu", "gpu", "ascend"}) {
      const std::string profile = concat("mindspore-", release.name, "/", device);
      EXPECT_EQ(complete_profile(profile).ok() ? *complete_profile(profile) : "", profile);
      EXPECT_EQ(mindspore::parse_profile(profile)->release, &release);
      const auto spec = dialect.parse(small_config("mindspore").dump(), "c.json", {.profile = profile});
      ASSERT_TRUE(spec.ok()) << spec.status().message();
      EXPECT_EQ(spec->profile, profile);
    }
  }
}

TEST(Dialects, NoneTakesTheConfigOfAnother) {
  for (const Dialect& one : dialects()) {
    for (const Dialect& other : dialects())
      EXPECT_EQ(other.recognise(small_config(one.name).dump()), one.name == other.name) << one.name << " " << other.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryDialect, testing::ValuesIn(dialects().begin(), dialects().end()),
                         [](const auto& dialect) { return std::string(dialect.param.name); });

}  // namespace
}  // namespace tensortap
