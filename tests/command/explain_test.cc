// `tensortap explain` on dump configs of MindSpore and AscendCL: which config is taken, from where, and what is said of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Explain : public testing::Test {
 protected:
  // Writes a config that differs from the plainest one in some of its common settings; gives the path.
  std::string mindspore(const std::string& name, const Json& changes = Json::object()) {
    Json common = {{"dump_mode", 0},    {"path", "/dumps"},         {"net_name", "Net"},    {"iteration", "all"},
                   {"input_output", 0}, {"kernels", Json::array()}, {"support_device", {0}}};
    common.update(changes);
    write(folder_ / name, Json{{"common_dump_settings", common}, {"e2e_dump_settings", {{"enable", true}}}}.dump(1));
    return folder_ / name;
  }
  std::string ascend(const std::string& name, Json dump) {
    dump["dump_path"] = folder_.path();
    write(folder_ / name, Json{{"dump", dump}}.dump(1));
    return folder_ / name;
  }
  Done explain(std::vector<std::string> words, const std::string& variable = "", const std::string& data = "") {
    words.insert(words.begin(), "explain");
    return tensortap(words, {folder_.path(), {{"MINDSPORE_DUMP_CONFIG", variable}, {"MS_DIAGNOSTIC_DATA_PATH", data}}});
  }
  static std::string plan_of(const Done& done) {
    EXPECT_EQ(done.code, 0) << done.said();
    std::string lines;
    const Json answer = done.object();
    for (const Json& line : answer["plan"]) lines += line.get<std::string>() + "\n";
    return lines;
  }
  toy::TempFolder folder_;
};

// --- MindSpore ------------------------------------------------------------------------------------------------------------------------

TEST_F(Explain, KnowsAConfigByItsContent) {
  const std::string config = mindspore("c.json", {{"iteration", "0|5-8"}, {"saved_data", "statistic"}});
  EXPECT_THAT(plan_of(explain({config, "--json"})),
              AllOf(HasSubstr("These steps are captured, counted from 0: 0,5-8."),
                    HasSubstr("the folder \"/dumps\" in the layout \"mindspore\""), HasSubstr("the profile \"mindspore-2.10/cpu\""),
                    HasSubstr("statistic_category = max,min,l2norm"), HasSubstr("config = a text of")));
}

// M1
TEST_F(Explain, TakesTheConfigOfTheVariableWhenNoOtherIsGiven) {
  const std::string config = mindspore("c.json", {{"net_name", "Fromvariable"}});
  const std::string other = mindspore("o.json", {{"net_name", "Fromcommand"}});
  EXPECT_THAT(plan_of(explain({"--json"}, config)), HasSubstr("net_name = Fromvariable"));
  EXPECT_THAT(plan_of(explain({"--json"}, "c.json")), HasSubstr("net_name = Fromvariable"));
  EXPECT_THAT(plan_of(explain({"--json", "--out", folder_ / "other"}, config)), HasSubstr(folder_ / "other"));
  EXPECT_THAT(plan_of(explain({other, "--json"}, config)), HasSubstr("net_name = Fromcommand"));
  EXPECT_THAT(plan_of(explain({"--json", "--types", "Conv"}, config)), AllOf(HasSubstr("net_name = Fromvariable"), HasSubstr("Conv")))
      << "the command line goes on top of it";
  EXPECT_THAT(plan_of(explain({"--json"})), HasSubstr("Every op is captured"));
}

// M1
TEST_F(Explain, WantsAJsonFileOfTheVariable) {
  const Done missing = explain({}, folder_ / "no.json");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, StartsWith("error: MINDSPORE_DUMP_CONFIG: " + (folder_ / "no.json") + ": "));
  const std::string text = mindspore("c.txt");
  for (const Done& done : {explain({}, text), explain({text})}) {
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr("c.txt: the name of a config of mindspore has to end in .json"));
  }
  fs::create_symlink(text, folder_ / "link.json");
  EXPECT_EQ(explain({folder_ / "link.json"}).code, 2) << "the file itself counts";
  fs::create_symlink(mindspore("c.json"), folder_ / "link");
  EXPECT_EQ(explain({folder_ / "link"}).code, 0);
  write(folder_ / "empty.json", "");
  EXPECT_EQ(explain({}, folder_ / "empty.json").code, 2);
  write(folder_ / "native.json", R"({"steps": "0"})");
  EXPECT_THAT(explain({}, folder_ / "native.json").err, HasSubstr("common_dump_settings: is missing"));
}

// M1
TEST_F(Explain, TakesThePathOfTheOtherVariable) {
  const std::string config = mindspore("c.json", {{"path", ""}});
  EXPECT_THAT(explain({config}).err, HasSubstr("common_dump_settings.path: is missing or empty"));
  EXPECT_THAT(explain({config}, "", "/data").out, HasSubstr("\"/data/debug_dump\""));
}

TEST_F(Explain, TakesProfilesOfVersionsAndDevices) {
  const std::string config = mindspore("c.json", {{"saved_data", "statistic"}});
  EXPECT_THAT(plan_of(explain({config, "--profile", "mindspore-2.0", "--json"})),
              AllOf(HasSubstr("the profile \"mindspore-2.0/cpu\""), HasSubstr("max,min,avg,count,negative zero count")));
  EXPECT_THAT(plan_of(explain({config, "--profile", "mindspore-2.7.0/gpu", "--profile-strict", "--json"})), HasSubstr("max,min,l2norm"));
  const Done refused = explain({config, "--profile-strict"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("common_dump_settings.saved_data: MindSpore keeps no statistics on a CPU"));
  EXPECT_THAT(plan_of(explain({config, "--profile", "mindspore-2.7/gpu", "--json"})), HasSubstr("the profile \"mindspore-2.7.0/gpu\""));
  EXPECT_THAT(explain({config, "--profile", "mindspore-1.0"}).err, HasSubstr("there is no profile"));
  EXPECT_THAT(explain({"--profile-strict"}).err, HasSubstr("there is no config"));
  EXPECT_THAT(plan_of(explain({"--layout", "mindspore", "--profile", "mindspore-2.4", "--json"})),
              HasSubstr("the profile \"mindspore-2.4/cpu\""));
}

TEST_F(Explain, TakesTheSameConfigForAnotherLayout) {
  const std::string plan = plan_of(explain({mindspore("c.json"), "--layout", "tap", "--json"}));
  EXPECT_THAT(plan, AllOf(HasSubstr("in the layout \"tap\""), Not(HasSubstr("Option of the layout")), Not(HasSubstr("profile"))));
}

TEST_F(Explain, WritesNotesToStandardErrorAndIntoTheJson) {
  const std::string config = mindspore("c.json", {{"foo", 1}, {"iteration", "3-1"}});
  const Done done = explain({config});
  EXPECT_THAT(done.err, AllOf(HasSubstr("common_dump_settings.foo: unknown key; ignored"), HasSubstr("1 part matches no iteration")));
  EXPECT_THAT(done.out, HasSubstr("No step is captured"));
  EXPECT_THAT(explain({config, "--json"}).object()["notes"].dump(), HasSubstr("foo"));
  EXPECT_EQ(explain({config, "--quiet"}).err, "");
}

TEST_F(Explain, MatchesKernelsAgainstAModel) {
  if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  write(folder_ / "model.onnx", small_model());
  const Json kernels = {"SOFTM", "Default/relu_1/FusedGemm-op7", "Softmaxx"};
  const std::string config = mindspore("c.json", {{"dump_mode", 1}, {"kernels", kernels}});
  const Json answer = explain({config, "--model", "model.onnx", "--json"}).object();
  EXPECT_THAT(answer["ops"].dump(), HasSubstr("\"softmax_1\""));
  std::string notes;
  for (const Json& note : answer["notes"]) notes += note.get<std::string>() + "\n";
  EXPECT_THAT(notes, AllOf(HasSubstr("\"Softmaxx\""), HasSubstr("Did you mean \"Softmax\""),
                           HasSubstr("Did you mean \"Default/relu_1/FusedGemm-op0\"")));
}

// M2: files with odd names, and some of the recorded texts; all texts are in settings_test.cc.
TEST_F(Explain, EndsAsTheRealParserDid) {
  std::map<std::string, int> seen;
  for (const std::string& line : lines_of(read(TENSORTAP_TESTDATA "/golden/mindspore/config/cases.jsonl"))) {
    const Json one = Json::parse(line);
    const std::string identity = one["id"];
    const std::vector<std::string> wanted = {"badext", "dotdir", "relpath", "emptyenv", "base", "st_order", "dm2", "empty"};
    if (std::ranges::find(wanted, identity) == wanted.end()) continue;
    ++seen[identity];
    const toy::TempFolder place;
    const fs::path path = fs::path(place.path()) / one["file"].get<std::string>();
    fs::create_directories(path.parent_path());
    auto text = one["text"].get<std::string>();
    for (size_t at = text.find("<ROOT>"); at != std::string::npos; at = text.find("<ROOT>")) text.replace(at, 6, "/golden");
    write(path, text);
    std::string target = one["target"];
    std::ranges::transform(target, target.begin(), [](char c) { return static_cast<char>(tolower(c)); });
    const std::string variable = one.value("env", Json::object()).value("MINDSPORE_DUMP_CONFIG", path.string());
    std::vector<std::string> words = {"explain"};
    if (!variable.empty()) words.insert(words.end(), {"--profile", "mindspore-2.10/" + target, "--profile-strict"});
    const Done done = tensortap(words, {place.path(), {{"MINDSPORE_DUMP_CONFIG", variable}, {"MS_DIAGNOSTIC_DATA_PATH", ""}}});
    EXPECT_EQ(done.code == 0, one["accepted"].get<bool>()) << identity << " " << target << done.said();
  }
  EXPECT_EQ(seen.size(), 8U);
}

// --- AscendCL -------------------------------------------------------------------------------------------------------------------------

TEST_F(Explain, SaysWhatAnAclJsonAsksForOfAModel) {
  if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  write(folder_ / "model.onnx", small_model());
  const Json list = {{{"model_name", "other"}}, {{"layer", {"relu_1", "softmaxx"}}}};
  const std::string config = ascend("acl.json", {{"dump_list", list}, {"dump_step", "0|2-3"}, {"dump_mode", "all"}});
  const Done done = explain({config, "--model", "model.onnx", "--json"});
  EXPECT_THAT(plan_of(done),
              AllOf(HasSubstr("every op of the model \"other\""), HasSubstr("These steps are captured, counted from 0: 0,2-3.\n"),
                    HasSubstr("\"" + folder_.path() + "\" in the layout \"ge\"")));
  const Json answer = done.object();
  EXPECT_THAT(answer["ops"].dump(), HasSubstr("relu_1"));
  std::string notes;
  for (const Json& note : answer["notes"]) notes += note.get<std::string>() + "\n";
  EXPECT_THAT(notes, AllOf(HasSubstr("the model \"other\""), HasSubstr("names of running models: \"model\", \"g\""),
                           HasSubstr("\"softmaxx\""), HasSubstr("Did you mean \"softmax_1\"?")));
}

TEST_F(Explain, AndEveryCommandStopsAtAFaultBeforeItBegins) {
  write(folder_ / "net.onnx", chain_model());
  const std::string config =
      ascend("acl.json", {{"dump_list", Json::array({Json::object()})}, {"dump_debug", "on"}, {"dump_op_switch", "on"}});
  const std::vector<std::vector<std::string>> commands = {
      {"explain", config}, {"run", "net.onnx", "--config", config}, {"exec", "--config", config, "--", "true"}};
  for (const auto& words : commands) {
    const Done done = tensortap(words, {folder_.path()});
    EXPECT_EQ(done.code, 2) << words[0];
    EXPECT_TRUE(matches(done.err, "acl\\.json:\\d+:\\d+: dump.dump_op_switch: \"on\" contradicts \"dump_debug\": \"on\"")) << done.err;
    EXPECT_THAT(done.err, HasSubstr("(EP0005, AscendCL error 100009)"));
  }
  for (const std::string& missing : {folder_ / "no.json", folder_.path()}) {
    const Done done = explain({missing});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr(missing));
  }
}

// A12
TEST_F(Explain, TakesThePathOfAnExceptionDumpFromTheEnvironment) {
  write(folder_ / "acl.json", R"({"dump": {"dump_scene": "aic_err_norm_dump", "dump_path": "/from/config"}})");
  Surroundings around = {folder_.path(), {}};
  for (const char* name : {"ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH", "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"}) around.variables[name] = "";
  const auto expect_folder = [&](const std::string& folder) {
    EXPECT_THAT(plan_of(tensortap("explain acl.json --json", around)), HasSubstr("The dump goes to the folder \"" + folder + "\""));
  };
  expect_folder("/from/config");
  around.variables["ASCEND_WORK_PATH"] = "/from/work";
  expect_folder("/from/work");
  around.variables["ASCEND_DUMP_PATH"] = "/from/dump";
  expect_folder("/from/dump");
  around.variables["NPU_COLLECT_PATH"] = "/from/collect";
  expect_folder("/from/collect");
}

}  // namespace
}  // namespace command
