#include "system/mindspore/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "system/mindspore/config/dialect.h"

namespace tensortap::mindspore {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::map<std::string, std::string> kProfiles = {{"CPU", "/cpu"}, {"GPU", "/gpu"}, {"Ascend", "/ascend"}};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

// The recorded machine paths of a golden text.
std::string with_paths(const std::string& text) { return replace_all(replace_all(text, "<ROOT2>", "/golden2"), "<ROOT>", "/golden"); }

// Words of MindSpore's messages and the keys that they are about, where the message does not name the key itself.
std::vector<std::string> keys_behind(const std::string& error) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"Dump path", {"path"}},
      {"Set dump is only", {"dump_mode"}},
      {"storing statistic dump is only supported", {"saved_data"}},
      {"The following statistic_category", {"statistic_category"}},
      {"type must be number", {"support_device"}},
      {"type must be string", {"statistic_category"}},
      {"Unexpected character in bracket", {"kernels"}},
      {"'enable' should be boolean", {"enable", "trans_flag", "save_kernel_args"}}};
  for (const auto& [words, keys] : table) {
    if (error.find(words) != std::string::npos) return keys;
  }
  std::vector<std::string> keys = {"common_dump_settings not"};
  for (const ConfigKey& key : mindspore::keys()) {
    if (error.find(key.name) != std::string::npos) keys.emplace_back(key.name);
  }
  return keys;
}

Json effective(const Settings& settings) {
  std::vector<std::string> categories = settings.categories;
  for (std::string& item : categories) item = item == "hash:sha1" ? "sha1" : item;
  // The real parser ran on device 0.
  const bool here = settings.every_device || std::ranges::find(settings.devices, 0U) != settings.devices.end();
  return {{"async", here && settings.asynchronous},
          {"e2e", here && settings.e2e},
          {"sync", settings.synchronous},
          {"dump_mode", settings.dump_mode},
          {"op_debug_mode", settings.op_debug_mode},
          {"overflow_number", settings.overflow_number},
          {"path", settings.path},
          {"saved_data", settings.saved_data},
          {"iteration", settings.iteration},
          {"net", settings.net_name},
          {"trans", settings.trans_flag},
          {"args", settings.save_kernel_args},
          {"sample", concat(settings.sample_mode, "/", settings.sample_num)},
          {"io", settings.input_output},
          {"npy", settings.npy},
          {"devcalc", settings.device_statistics},
          {"high", settings.high_precision},
          {"cur", settings.initial_iteration},
          {"statistic_category", categories}};
}

// Everything about a recorded case that is the parser's affair.
void check_case(const Json& golden) {
  SCOPED_TRACE(golden["target"].get<std::string>() + " " + golden["id"].get<std::string>());
  const std::string text = with_paths(golden["text"].get<std::string>());
  const auto file = golden["file"].get<std::string>();
  const std::string profile_text = "mindspore-2.10" + kProfiles.at(golden["target"].get<std::string>());
  const Profile profile = *parse_profile(profile_text);
  const Result<Settings> settings = read_settings(text, "cfg.json", profile, true);
  const bool accepted = file.ends_with(kFileSuffix) && settings.ok();
  ASSERT_EQ(accepted, golden["accepted"].get<bool>()) << (settings.ok() ? "" : settings.status().message()) << "\n" << text;
  if (accepted) {
    EXPECT_EQ(effective(*settings), *parse_json(with_paths(golden["effective"].dump()), "effective")) << text;
    EXPECT_EQ(parse_config(text, "cfg.json", {.profile = profile_text, .strict = true}).ok(), true);
    return;
  }
  if (settings.ok()) return;  // refused for its file's name
  const std::string& message = settings.status().message();
  EXPECT_THAT(message, testing::StartsWith("cfg.json:"));
  if (golden["error"].get<std::string>().starts_with("Parse dump json failed")) return;
  bool named = false;
  for (const std::string& key : keys_behind(golden["error"].get<std::string>())) named = named || message.find(key) != std::string::npos;
  EXPECT_TRUE(named) << message << "\n" << golden["error"];
}

TEST(MindsporeSettings, GoldenCasesAreAcceptedAndRefusedAsRecorded) {
  const Result<std::string> file = read_file(TENSORTAP_TESTDATA "/golden/mindspore/config/cases.jsonl");
  ASSERT_TRUE(file.ok()) << file.status().message();
  size_t cases = 0;
  for (const std::string_view line : split(trim(*file), '\n')) {
    const Json golden = *parse_json(line, "cases.jsonl");
    ++cases;
    if (golden["id"] != "emptyenv") check_case(golden);  // there no config is read at all
  }
  EXPECT_EQ(cases, 321U);
}

// A config that every version accepts, with the members that are needed for single keys to be read.
Json base() {
  return *parse_json(R"({"e2e_dump_settings": {"enable": true, "trans_flag": true},
    "common_dump_settings": {"dump_mode": 0, "path": "/d", "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [],
      "support_device": [0], "op_debug_mode": 0}})",
                     "base");
}

struct Setting {
  Json config;
  std::string profile = "mindspore-2.10/gpu";
};

Setting setting_for(std::string_view key) {
  Setting setting{base()};
  Json& common = setting.config["common_dump_settings"];
  if (key == "sample_num") setting.config["e2e_dump_settings"]["sample_mode"] = 1;
  if (key == "overflow_number") common["op_debug_mode"] = 3;
  if (key == "statistic_category") common["saved_data"] = "statistic";
  if (key == "kernels") common["dump_mode"] = 1;
  if (key == "file_format") {
    setting.config.erase("e2e_dump_settings");
    setting.profile = "mindspore-2.10/ascend";
  }
  return setting;
}

std::string error_of(const Json& config, std::string_view profile, bool strict = true) {
  const std::string text = config.dump(1);
  const Result<Settings> settings = read_settings(text, "c.json", *parse_profile(profile), strict);
  return settings.ok() ? "" : settings.status().message();
}

std::string place_of(const Json& config, const ConfigKey& key) {
  return concat("c.json:", json_position(config.dump(1), concat("/", key.section, "/", key.name)), ": ", key.section, ".", key.name);
}

TEST(MindsporeSettings, EveryKeyOfTheWrongTypeIsRefusedAtItsPlace) {
  const std::map<std::string_view, std::string> good = {{"whole number", "whole"},   {"text", "text"},
                                                        {"true or false", "flag"},   {"list", "list"},
                                                        {"list of numbers", "list"}, {"list of texts", "list"}};
  const std::vector<std::pair<std::string, Json>> values = {
      {"none", nullptr}, {"flag", true},          {"number", 1.5},           {"number", -1},
      {"text", "x y"},   {"list", Json::array()}, {"object", Json::object()}};
  size_t refused = 0;
  for (const ConfigKey& key : mindspore::keys()) {
    for (const auto& [kind, value] : values) {
      if (kind == good.at(key.type)) continue;
      Setting setting = setting_for(key.name);
      setting.config[std::string(key.section)][std::string(key.name)] = value;
      for (const bool strict : {false, true}) {
        EXPECT_THAT(error_of(setting.config, setting.profile, strict), HasSubstr(place_of(setting.config, key))) << value;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, keys().size() * 10);
}

TEST(MindsporeSettings, EveryKeyOutOfItsRangeIsRefusedAtItsPlace) {
  const std::map<std::string_view, std::vector<std::string>> wrong = {
      {"stat_calc_mode", {R"("Host")", R"("")", R"("gpu")"}},
      {"device_stat_precision_mode", {R"("High")", R"("")"}},
      {"sample_mode", {"2", "18446744073709551615"}},
      {"sample_num", {"0"}},
      {"dump_mode", {"3", "18446744073709551615"}},
      {"path", {R"("d")", R"("/a.b")", R"("/a b")", R"("~/x")", R"("/\u00e9")", R"("/a\u0000")"}},
      {"net_name", {R"("")", R"("a/b")", R"("a.b")", R"("a b")"}},
      {"iteration", {R"("")", R"("ALL")", R"("0,1")", R"("0 | 5-8")"}},
      {"input_output", {"3"}},
      {"kernels", {R"j(["name-regex([)"])j"}},
      {"support_device", {R"(["0"])", "[null]", "[[]]"}},
      {"op_debug_mode", {"5"}},
      {"file_format", {R"("xyz")", R"("")", R"("NPY")"}},
      {"saved_data", {R"("x")", R"("")", R"("Tensor")"}},
      {"statistic_category", {R"(["Max"])", R"(["mean"])", R"(["sha1"])", "[1]", R"(["max", null])"}}};
  for (const ConfigKey& key : mindspore::keys()) {
    const auto row = wrong.find(key.name);
    if (row == wrong.end()) continue;
    for (const std::string& value : row->second) {
      Setting setting = setting_for(key.name);
      setting.config[std::string(key.section)][std::string(key.name)] = *parse_json(value, "value");
      EXPECT_THAT(error_of(setting.config, setting.profile), HasSubstr(concat(key.section, ".", key.name))) << value;
    }
  }
}

TEST(MindsporeSettings, RequiredKeysAreMissed) {
  std::set<std::string> required;
  for (const ConfigKey& key : mindspore::keys()) {
    Json config = base();
    config[std::string(key.section)].erase(std::string(key.name));
    const std::string error = error_of(config, "mindspore-2.10/gpu");
    if (error.empty()) continue;
    EXPECT_THAT(error, HasSubstr(concat(": ", key.section, ".", key.name, ": is missing"))) << error;
    required.emplace(key.name);
  }
  EXPECT_EQ(required, (std::set<std::string>{"dump_mode", "path", "net_name", "iteration", "input_output", "kernels", "support_device"}));
  EXPECT_THAT(error_of(Json::object(), ""), HasSubstr("c.json:1:1: common_dump_settings: is missing"));
  EXPECT_THAT(error_of(Json::array(), ""), HasSubstr("common_dump_settings: is missing"));
}

TEST(MindsporeSettings, TheFirstFaultWins) {
  Json config = base();
  Json& common = config["common_dump_settings"];
  common["initial_iteration"] = "x";
  common["saved_data"] = 1;
  common["overflow_number"] = 1;
  common["op_debug_mode"] = 9;
  common["support_device"] = "x";
  common["kernels"] = "x";
  common["input_output"] = 9;
  common["iteration"] = "x";
  common["net_name"] = "x/y";
  common["path"] = "x";
  common["dump_mode"] = 9;
  config["e2e_dump_settings"]["sample_mode"] = 9;
  const std::vector<std::pair<std::string, Json>> mended = {{"dump_mode", 0},
                                                            {"path", "/d"},
                                                            {"net_name", "N"},
                                                            {"iteration", "all"},
                                                            {"input_output", 0},
                                                            {"kernels", Json::array()},
                                                            {"support_device", Json::array({0})},
                                                            {"op_debug_mode", 0},
                                                            {"overflow_number", nullptr},
                                                            {"saved_data", "tensor"},
                                                            {"initial_iteration", 0}};
  EXPECT_THAT(error_of(config, ""), HasSubstr("sample_mode: "));
  config["e2e_dump_settings"].erase("sample_mode");
  for (const auto& [key, value] : mended) {
    EXPECT_THAT(error_of(config, ""), HasSubstr(concat("common_dump_settings.", key, ": "))) << key;
    common[key] = value;
    if (value.is_null()) common.erase(key);
  }
  EXPECT_EQ(error_of(config, ""), "");
}

TEST(MindsporeSettings, WithoutStrictAnyDeviceCanDoWhatOneCan) {
  Json config = base();
  config["common_dump_settings"]["saved_data"] = "statistic";
  EXPECT_THAT(error_of(config, "mindspore/cpu", true), HasSubstr("saved_data: "));
  EXPECT_EQ(error_of(config, "mindspore/cpu", false), "");
  EXPECT_THAT(error_of(config, "mindspore-2.0/ascend", true), HasSubstr("saved_data: "));
  EXPECT_EQ(error_of(config, "mindspore-2.0/ascend", false), "");
  config["common_dump_settings"]["statistic_category"] = {"Max"};
  EXPECT_THAT(error_of(config, "mindspore/cpu", false), HasSubstr("statistic_category[0]: \"Max\" is no statistic. Did you mean \"max\""));
  config.erase("e2e_dump_settings");
  config["common_dump_settings"].erase("statistic_category");
  config["common_dump_settings"].erase("op_debug_mode");
  EXPECT_THAT(error_of(config, "mindspore/ascend", true), HasSubstr("op_debug_mode: is missing"));
  EXPECT_EQ(error_of(config, "mindspore/ascend", false), "");
}

TEST(MindsporeSettings, OlderVersionsAreStrictInTheirOwnWay) {
  Json config = base();
  config["e2e_dump_settings"].erase("trans_flag");
  for (const char* profile : {"mindspore-2.0", "mindspore-2.3.0", "mindspore-2.3.2"}) {
    EXPECT_THAT(error_of(config, profile), HasSubstr("e2e_dump_settings.trans_flag: is missing")) << profile;
    EXPECT_EQ(error_of(config, profile, false), "") << profile;
  }
  for (const char* profile : {"mindspore-2.4", "mindspore-2.7.0", "mindspore-2.10"}) EXPECT_EQ(error_of(config, profile), "") << profile;
  config = base();
  config["common_dump_settings"]["op_debug_mode"] = 1;
  EXPECT_THAT(error_of(config, "mindspore-2.3.2"), HasSubstr("op_debug_mode: 1 is not known to MindSpore 2.3.2"));
  EXPECT_EQ(error_of(config, "mindspore-2.4"), "");
  EXPECT_EQ(error_of(config, "mindspore-2.0"), "") << "read only without e2e_dump_settings";
}

Settings settings_of(const Json& config, std::string_view profile, bool strict = false) {
  const Result<Settings> settings = read_settings(config.dump(), "c.json", *parse_profile(profile), strict);
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  return settings.ok() ? *settings : Settings();
}

TEST(MindsporeSettings, StatisticsOfEachVersion) {
  Json config = base();
  config["common_dump_settings"]["saved_data"] = "full";
  EXPECT_EQ(settings_of(config, "mindspore-2.0").categories.size(), 10U);
  EXPECT_EQ(settings_of(config, "mindspore-2.3.0").categories.back(), "md5");
  EXPECT_EQ(settings_of(config, "mindspore-2.3.2").categories, (std::vector<std::string>{"max", "min", "l2norm"}));
  config["common_dump_settings"]["statistic_category"] = {"md5", "max", "hash:md5", "max", "hash", "hash:sha1"};
  EXPECT_EQ(settings_of(config, "mindspore-2.10").categories, (std::vector<std::string>{"md5", "max", "hash:sha1"}));
  EXPECT_THAT(error_of(config, "mindspore-2.7.0/gpu", false), HasSubstr("[2]: \"hash:md5\" is no statistic"));
  config["common_dump_settings"]["statistic_category"] = {"md5", "max", "max"};
  EXPECT_EQ(settings_of(config, "mindspore-2.7.0").categories, (std::vector<std::string>{"md5", "max", "max"}));
  EXPECT_THAT(settings_of(config, "mindspore-2.0").notes, Contains(HasSubstr("statistic_category: is not known to MindSpore 2.0")));
  config["common_dump_settings"]["statistic_category"] = Json::array();
  EXPECT_THAT(settings_of(config, "mindspore-2.10").categories, IsEmpty());
}

TEST(MindsporeSettings, ThePathComesFromTheEnvironmentWhenThereIsNone) {
  Json config = base();
  for (const bool empty : {false, true}) {
    config["common_dump_settings"].erase("path");
    if (empty) config["common_dump_settings"]["path"] = "";
    ::setenv("MS_DIAGNOSTIC_DATA_PATH", "/data", 1);
    EXPECT_EQ(settings_of(config, "").path, "/data/debug_dump");
    ::setenv("MS_DIAGNOSTIC_DATA_PATH", "data", 1);
    EXPECT_THAT(error_of(config, ""),
                HasSubstr("common_dump_settings.path: \"data/debug_dump\" (from MS_DIAGNOSTIC_DATA_PATH) is not absolute"));
    ::setenv("MS_DIAGNOSTIC_DATA_PATH", "/da.ta", 1);
    EXPECT_THAT(error_of(config, ""), HasSubstr("may hold only letters"));
    ::unsetenv("MS_DIAGNOSTIC_DATA_PATH");
    EXPECT_THAT(error_of(config, ""), HasSubstr("common_dump_settings.path: is missing or empty"));
  }
}

// M1: as the releases read the two, MS_ACL_DUMP_CFG_PATH to before 2.4.10, ENABLE_MS_GE_DUMP to before 2.6.
TEST(MindsporeSettings, VariablesChooseWhoDumpsAGraphWhereTheReleaseObeysThem) {
  struct Row {
    const char* profile;
    const char* ge;
    const char* acl;
    GraphDump chosen;
    const char* said;  // "" = no note about a variable
  };
  constexpr GraphDump kRelease = GraphDump::kOfRelease, kGe = GraphDump::kByGraphEngine, kAcl = GraphDump::kByAcl;
  constexpr Row kRows[] = {
      {"2.2.15/ascend", "1", "", kRelease, "ENABLE_MS_GE_DUMP: no effect on MindSpore 2.2.15"},
      {"2.3.0/ascend", "1", "", kGe, ""},
      {"2.3.0/ascend", "", "/c.json", kAcl, ""},
      {"2.3.2/ascend", "1", "/c.json", kGe, ""},
      {"2.4.2/ascend", "", "/c.json", kAcl, ""},
      {"2.4.10/ascend", "", "/c.json", kRelease, "MS_ACL_DUMP_CFG_PATH: no effect on MindSpore 2.4.10"},
      {"2.5/ascend", "1", "", kGe, ""},
      {"2.5/ascend", "0", "", kRelease, ""},
      {"2.6/ascend", "1", "", kRelease, "ENABLE_MS_GE_DUMP: no effect on MindSpore 2.6; it has been deprecated since 2.6"},
      {"2.10/ascend", "1", "/c.json", kRelease, "MS_ACL_DUMP_CFG_PATH: no effect on MindSpore 2.10"},
      {"2.5/cpu", "1", "", kRelease, "ENABLE_MS_GE_DUMP: no effect: it chooses who dumps the graph of an Ascend"},
      {"2.3.2/gpu", "", "/c.json", kRelease, "MS_ACL_DUMP_CFG_PATH: no effect: it chooses"}};
  const auto variable_note = AnyOf(HasSubstr("ENABLE_MS_GE_DUMP"), HasSubstr("MS_ACL_DUMP_CFG_PATH"));
  Json config = base();
  config.erase("e2e_dump_settings");
  for (const Row& row : kRows) {
    ::setenv("ENABLE_MS_GE_DUMP", row.ge, 1);
    ::setenv("MS_ACL_DUMP_CFG_PATH", row.acl, 1);
    const Settings settings = settings_of(config, concat("mindspore-", row.profile));
    EXPECT_EQ(settings.graph_dump, row.chosen) << row.profile;
    if (*row.said != '\0') {
      EXPECT_THAT(settings.notes, Contains(HasSubstr(row.said))) << row.profile;
    } else {
      EXPECT_THAT(settings.notes, Not(Contains(variable_note))) << row.profile;
    }
  }
  ::unsetenv("MS_ACL_DUMP_CFG_PATH");
  ::setenv("ENABLE_MS_GE_DUMP", "1", 1);
  config["common_dump_settings"]["op_debug_mode"] = 4;
  EXPECT_THAT(error_of(config, "mindspore-2.5/ascend"), HasSubstr("op_debug_mode: 4 is not for the dump of the graph engine"));
  EXPECT_EQ(settings_of(config, "mindspore-2.5/ascend").op_debug_mode, 4U);
  EXPECT_EQ(error_of(config, "mindspore-2.6/ascend"), "");
  ::unsetenv("ENABLE_MS_GE_DUMP");
  EXPECT_EQ(error_of(config, "mindspore-2.5/ascend"), "");
}

TEST(MindsporeSettings, WhatIsIgnoredOrForcedIsSaid) {
  Json config = base();
  config["common_dump_settings"]["iterationn"] = "0";
  config["async_dump_settings"] = {{"enable", true}};
  config["common_dump_settings"]["initial_iteration"] = 5;
  EXPECT_THAT(settings_of(config, "").notes,
              Contains(HasSubstr("iterationn: unknown key; ignored, as in MindSpore. Did you mean \"iteration\"")));
  EXPECT_THAT(settings_of(config, "").notes, Contains(HasSubstr("async_dump_settings: unknown key")));
  EXPECT_EQ(settings_of(config, "mindspore-2.4", false).initial_iteration, 5U);
  EXPECT_EQ(settings_of(config, "mindspore-2.4", true).initial_iteration, 0U);
  config["common_dump_settings"]["support_device"] = {1, 1};
  EXPECT_EQ(settings_of(config, "mindspore/gpu").devices, std::vector<uint64_t>{1});
  EXPECT_TRUE(settings_of(config, "mindspore/cpu").every_device);
  EXPECT_THAT(settings_of(config, "mindspore/gpu").notes, Contains(HasSubstr("support_device: does not list device 0")));
  const std::string twice = R"({"common_dump_settings": 1, "common_dump_settings": )" + base()["common_dump_settings"].dump() + "}";
  const Result<Settings> settings = read_settings(twice, "c.json", *parse_profile(""), true);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_THAT(settings->notes, Contains(HasSubstr("\"common_dump_settings\" occurs twice")));
}

TEST(MindsporeSettings, WhatReleasesDoOtherwiseIsSaid) {
  Json config = base();
  config["e2e_dump_settings"]["enable"] = false;
  for (const bool strict : {false, true}) {
    const Settings old = settings_of(config, "mindspore-2.3.0/ascend", strict);
    EXPECT_TRUE(old.asynchronous && !old.e2e);
    EXPECT_THAT(old.notes, Contains(HasSubstr("enable: false: MindSpore 2.3.0 dumps asynchronously on Ascend, and so does this dump")));
    EXPECT_FALSE(settings_of(config, "mindspore-2.4/ascend", strict).asynchronous);
    EXPECT_FALSE(settings_of(config, "mindspore-2.3.0/gpu", strict).asynchronous);
  }
  config = base();
  config["common_dump_settings"]["op_debug_mode"] = 3;
  config["common_dump_settings"]["input_output"] = 2;
  EXPECT_THAT(settings_of(config, "mindspore-2.4/ascend").notes,
              Contains(HasSubstr("3 keeps the outputs alone, as \"input_output\" says")));
  EXPECT_EQ(settings_of(config, "mindspore-2.4/ascend").input_output, 2U);
  EXPECT_THAT(settings_of(config, "mindspore-2.7.0/ascend").notes, Contains(HasSubstr("3 keeps inputs and outputs; \"input_output\"")));
}

TEST(MindsporeSettings, OfManyUnknownKeysTheFirstAreSaid) {
  Json config = base();
  for (int i = 0; i < 1000; ++i) config["common_dump_settings"][concat("key", i)] = i;
  const std::vector<std::string> notes = settings_of(config, "").notes;
  EXPECT_EQ(notes.size(), 21U);
  EXPECT_EQ(notes.back(), "... and 980 more such notes");
}

}  // namespace
}  // namespace tensortap::mindspore
