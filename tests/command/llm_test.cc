// `tensortap llm dump`: the command line of msit, by the rules of Python's argparse. L1, L10, L13

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/llm/llm_checks.h"
#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

Words llm(const Words& words) {
  Words all = {"llm", "dump"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// What the words would do, without a program.
Json explained(const Words& words, const Surroundings& surroundings = {}) {
  Words all = llm(words);
  all.insert(all.end(), {"--explain", "--json"});
  const Done done = tensortap(all, surroundings);
  EXPECT_EQ(done.code, 0) << done.said();
  return done.object();
}

Json environment_of(const Words& words) { return explained(words)["environment"]; }

std::string error_of(const Words& words) {
  const Done done = tensortap(llm(words));
  EXPECT_EQ(done.code, 2) << done.said();
  return done.err;
}

// Section 2 of the design, row by row: MS 1.1
TEST(Llm, ReadsOptionsAsArgparseDoes) {
  struct Row {
    Words words;
    std::string variable;
    std::string value;
  };
  const std::vector<Row> rows = {
      {{"-e", "1,3"}, "ATB_SAVE_TENSOR_RANGE", "1,3"},
      {{"-dev", "1"}, "ATB_DEVICE_ID", "1"},
      {{"-st", "1"}, "ATB_SAVE_TENSOR_PART", "1"},
      {{"--save-operation-i", "2"}, "ATB_SAVE_TENSOR_IDS", "2"},
      {{"-er=1,2"}, "ATB_SAVE_TENSOR_RANGE", "1,2"},
      {{"--type=tensor"}, "ATB_DUMP_TYPE", "tensor"},
      {{"-ldebug"}, "ATB_AIT_LOG_LEVEL", "0"},
      {{"--type", "tensor", "-sd"}, "ATB_SAVE_TENSOR", "2"},
      {{"-seed"}, "PYTHONHASHSEED", "2024"},
      {{"-seed", "-sd"}, "PYTHONHASHSEED", "2024"},
      {{"-seed", "7"}, "PYTHONHASHSEED", "7"},
      {{"-er", "1,1", "-er", "2,2"}, "ATB_SAVE_TENSOR_RANGE", "2,2"},
      {{"-child", "False"}, "ATB_SAVE_CHILD", "0"},
      {{"-opname", "SelfAttention,Linear"}, "ATB_SAVE_TENSOR_RUNNER", "selfattention,linear"},
      {{"--type", "onnx"}, "ATB_DUMP_TYPE", "onnx|model|op"},
  };
  for (const Row& row : rows) EXPECT_EQ(environment_of(row.words).value(row.variable, ""), row.value) << row.words.front();
  const toy::TempFolder folder;
  EXPECT_THAT(explained({"-oout"}, {folder.path()})["plan"].dump(), HasSubstr("/out"));
}

TEST(Llm, SaysWhatIsWrongInArgparsesWords) {
  const Words exec = {"--exec", "true"};
  const std::vector<std::pair<Words, std::string>> rows = {
      {{"-s"}, "ambiguous option: -s could match -sd, -stp, -seed, -symlink"},
      {{"-c", "f"}, "ambiguous option: -c could match -child, -config"},
      {{"--sav", "1"},
       "ambiguous option: --sav could match --save-operation-ids, --save-operation-child, --save-time, --save-tiling, --save-tensor-part"},
      {{"-type", "tensor"}, "unrecognized arguments: -type tensor"},
      {{"-sdx"}, "unrecognized arguments: -sdx"},
      {{"extra"}, "unrecognized arguments: extra"},
      {{"--", "x"}, "unrecognized arguments: -- x"},
      {{"-device", "-1"}, "argument --device-id/-device: -1 is an invalid int value"},
      {{"-ids", "-1"}, "argument --save-operation-ids/-ids: dym range string \"-1\" is not a legal string"},
      {{"-er", "-1,2"}, "argument --execute-range/-er: expected one argument"},
      {{"--type"}, "argument --type: expected at least one argument"},
      {{"-er", "1-2"}, "argument --execute-range/-er: output size \"1-2\" is not a legal number"},
      {{"-er", "all"}, "output size \"all\" is not a legal number"},
      {{"-ids", "2, 3_1"}, "dym range string \"2, 3_1\" is not a legal string"},
      {{"-child", "maybe"}, "argument --save-operation-child/-child: Boolean value expected true, 1, false, 0 with case insensitive."},
      {{"-time", "4"}, "argument --save-time/-time: 4 is an invalid int value"},
      {{"-time", "x"}, "argument --save-time/-time: invalid int value: 'x'"},
      {{"-stp", "3"}, "argument --save-tensor-part/-stp: 3 is an invalid int value"},
      {{"-opname", "a|b"}, "argument --operation-name/-opname: invalid safe_string value: 'a|b'"},
      {{"--type", "trace"},
       "argument --type: invalid choice: 'trace' (choose from 'model', 'layer', 'op', 'kernel', 'tensor', 'cpu_profiling', 'onnx', "
       "'stats')"},
      {{"-seed", "x"}, "argument -seed: x can not convert to int."},
      {{"-seed", "4294967296"}, "argument -seed: 4294967296 is no seed: Python takes whole numbers from 0 to 4294967295"},
      {{"-l", "loud"}, "argument --log-level/-l: invalid choice: 'loud'"},
      {{"-sd=1"}, "argument --only-save-desc/-sd: ignored explicit argument '1'"},
      {{"--only-save-desc=1"}, "argument --only-save-desc/-sd: ignored explicit argument '1'"},
      {{"-time", "9", "-er", "x"}, "argument --save-time/-time"},
      {{"-er", "x", "-time", "9"}, "argument --execute-range/-er"},
  };
  for (const auto& [words, said] : rows) {
    Words all = words;
    all.insert(all.begin(), exec.begin(), exec.end());
    EXPECT_THAT(error_of(all), StartsWith("error: ")) << said;
    EXPECT_THAT(error_of(all), HasSubstr(said));
  }
  EXPECT_THAT(error_of({}), StartsWith("error: the following arguments are required: --exec"));
  EXPECT_THAT(error_of({"-time", "9"}), HasSubstr("argument --save-time"));
  EXPECT_THAT(error_of({"--exec", "a | b"}), HasSubstr("argument --exec: invalid safe_string value: 'a | b'"));
}

// Every recorded command line that starts a program says the same of itself without starting it; tests/llm_dump_test.py starts one.
TEST(Llm, GivesTheProgramTheEnvironmentThatMsitGivesIt) {
  const Json recorded = Json::parse(read(TENSORTAP_TESTDATA "/golden/msit/cli.json"));
  const toy::TempFolder folder;
  size_t compared = 0;
  for (const Json& row : recorded) {
    if (!row["ran"].get<bool>() || !row["case"].is_array()) continue;
    Words words = {"-o", folder / "out"};
    for (const std::string word : row["case"]) words.push_back(word == "{out}/deep/er" ? folder / "out/deep/er" : word);
    const Json given = environment_of(words);
    std::set<std::string> expected_names;
    for (const auto& [name, value] : row["env"].items()) {
      if (name == "LD_PRELOAD" || name == "umask" || name == "arguments") continue;
      expected_names.insert(name);
      std::string expected = value;
      if (expected.starts_with("{root}")) expected = folder / expected.substr(std::string("{root}/").size());
      if (expected == "{pid}") expected = std::to_string(getpid());
      if (expected == "{ts}") {
        EXPECT_TRUE(matches(given.value(name, ""), "^[0-9]{8}_[0-9]{6}$")) << given.dump();
      } else {
        EXPECT_EQ(given.value(name, ""), expected) << row["case"].dump() << name;
      }
    }
    for (const auto& [name, value] : given.items())
      EXPECT_EQ(!value.is_null(), expected_names.contains(name)) << row["case"].dump() << name;
    ++compared;
  }
  EXPECT_EQ(compared, 16U);
}

// MS 1.2, MS 1.3, MS 1.4: where msit ends with 1, so do we, before anything is started.
TEST(Llm, LooksAtFolderConfigAndCommandInMsitsOrder) {
  const toy::TempFolder folder;
  write(folder / "file", "");
  write(folder / "bad.json", "{\"dump_enable\": \"true\",\n \"er\": \"x\"}");
  const std::string out = folder / "out";
  const std::vector<std::pair<Words, std::string>> rows = {
      {{"-o", folder / "file"}, "is a file; choose a folder"},
      {{"-o", folder / "file/out"}, "is a file; choose a folder"},
      {{"-o", folder / "a b"}, "holds \" \"; readers of these dumps take letters, digits and _.:/- in paths"},
      {{"-o", ""}, "a folder is wanted"},
      {{"-o", folder / "file", "-config", folder / "none.json"}, "is a file; choose a folder"},
      {{"-o", out, "-config", folder / "none.json"}, "none.json"},
      {{"-o", out, "-config", folder.path()}, "--config-path: "},
      {{"-o", out, "-config", folder / "bad.json"}, "bad.json:2:2: er: \"x\" names no rounds"},
      {{"-o", out, "-config", folder / "none.json", "--exec", "touch(1)"}, "none.json"},
      {{"-o", out, "--exec", "true (1)"}, "The command contains invalid characters: \"(\" in \"(1)\""},
      {{"-o", out, "--exec", "tr~ue"}, "The command contains invalid characters: \"~\""},
      {{"-o", out, "--exec", "true \"a"}, "a quote \" without a second one"},
      {{"-o", out, "--exec", "  "}, "--exec holds blanks alone"},
  };
  for (const auto& [words, said] : rows) {
    Words all = llm({"--exec", "true"});
    all.insert(all.end(), words.begin(), words.end());
    const Done done = tensortap(all);
    EXPECT_EQ(done.code, 1) << done.said();
    EXPECT_THAT(done.err, HasSubstr(said));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  const Done nothing = tensortap(llm({"--exec", "", "-o", folder / "file"}));
  EXPECT_EQ(nothing.code, 0);
  EXPECT_EQ(nothing.said(), "");
}

TEST(Llm, AProgramThatIsNotThereIsAnErrorOfUsage) {
  const toy::TempFolder folder;
  for (const std::string& program : {std::string("no-such-program"), folder.path()}) {
    const Done done = tensortap(llm({"--exec", program, "-o", folder / "out"}));
    EXPECT_EQ(done.code, 2) << done.said();
    EXPECT_THAT(done.err, HasSubstr(program));
  }
}

TEST(Llm, SplitsTheCommandAtBlanksAndUnderstandsQuotes) {
  const std::vector<std::pair<std::string, Words>> rows = {
      {"python  a.py --lr 1 ", {"python", "a.py", "--lr", "1"}},
      {"python a=b,c:[1]", {"python", "a=b,c:[1]"}},
      {"run.sh \"a b\" 'c d'", {"run.sh", "a b", "c d"}},
      {"run.sh x\"a b\"y ''", {"run.sh", "xa by", ""}},
  };
  for (const auto& [text, words] : rows) EXPECT_EQ(explained({"--exec", text})["program"].get<Words>(), words) << text;
}

// L4 to L9
TEST(Llm, ExplainSaysThePlanAndWhatIsPassedOver) {
  const Json plan = explained({"-ids", "2,3_1", "-opname", "Linear", "-er", "0,1,5", "-time", "2", "-stp", "1", "-device", "1"});
  const std::string text = plan["plan"].dump();
  for (const char* part : {"The outputs of ops are captured", "the id \\\"3_1\\\" with its children (-ids)",
                           "begin with \\\"linear\\\" (-opname)", "counted from 0: 0-1.", "before and after", "local rank 1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(plan["notes"][0],
            "-er: rounds come in pairs, first and last; \"5\" has no partner and is dropped; write \"5,5\" for this round alone");
  const Done said = tensortap(llm({"--explain", "--exec", "python a.py", "-er", "1"}));
  EXPECT_THAT(said.out, HasSubstr("The program is started as: python a.py\n"));
  EXPECT_THAT(said.out, HasSubstr("No step is captured"));
  EXPECT_THAT(said.err, HasSubstr("write \"1,1\" for this round alone"));
}

// MS 2.2: a config wins over some options and leaves the others.
TEST(Llm, AConfigSaysWhichOperationsAndRounds) {
  const toy::TempFolder folder;
  write(folder / "c.json", R"({"dump_enable": "true", "ids": "4", "child": "true", "er": "all", "device": ""})");
  const Json plan = explained({"-config", folder / "c.json", "-ids", "2", "-er", "3,3", "-time", "1", "-sd"});
  const std::string text = plan["plan"].dump();
  EXPECT_THAT(text, HasSubstr("the id \\\"4\\\""));
  EXPECT_THAT(text, HasSubstr("Every step is captured."));
  EXPECT_THAT(text, HasSubstr("nothing else."));
  EXPECT_EQ(
      plan["notes"].dump(),
      R"(["-ids has no effect beside -config, as in msit: the file says it","-er has no effect beside -config, as in msit: the file says it"])");
  EXPECT_EQ(plan["environment"]["ATB_DUMP_CONFIG"], folder / "c.json");
}

TEST(Llm, HelpComesBeforeMistakesBehindItAndNamesEveryOption) {
  const Done done = tensortap(llm({"-h", "-time", "9"}), {"", {{"COLUMNS", "80"}}});
  EXPECT_EQ(done.code, 0) << done.err;
  for (const char* option :
       {"-sd, --only-save-desc", "-ids, --save-operation-ids IDS", "-seed [SEED]", "--exec COMMAND", "-l, --log-level LEVEL", "--explain"})
    EXPECT_THAT(done.out, HasSubstr(option));
  for (const std::string& line : lines_of(done.out.substr(0, done.out.find("Examples:")))) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(tensortap(llm({"-time", "9", "-h"})).code, 2);
  EXPECT_EQ(tensortap("llm dd --help").out, tensortap("llm dump --help").out);
}

TEST(Llm, OtherWordsAreToldTheNearest) {
  EXPECT_THAT(tensortap("llm").err, HasSubstr("tensortap llm needs `dump`"));
  EXPECT_THAT(tensortap("llm dmp").err, HasSubstr("tensortap llm has no \"dmp\"; it has dump, dd for short. Did you mean \"dump\""));
  EXPECT_EQ(tensortap("llm compare --golden-path a").code, 2);
}

// L14
TEST(Llm, ADiskWithTooLittleRoomIsToldInMsitsWords) {
  const toy::TempFolder folder;
  EXPECT_TRUE(tensortap::cli::check_disk_room(folder / "not/yet/there", 1).ok());
  const tensortap::Status status = tensortap::cli::check_disk_room(folder / "not/yet/there", UINT64_MAX);
  EXPECT_EQ(status.code(), tensortap::StatusCode::kExhausted);
  EXPECT_THAT(status.message(), StartsWith("Disk space is not enough, it's must more than 2G, free size(MB) is: "));
}

// L10: higher levels print more; errors are always printed.
TEST(Llm, TheLogLevelSaysHowMuchIsSaid) {
  const toy::TempFolder folder;
  const auto said = [&](const std::string& level) {
    const Done done = tensortap(llm({"--exec", "true (", "-l", level, "-o", folder / "out"}));
    EXPECT_THAT(done.err, HasSubstr("error: The command contains invalid characters")) << level;
    return done.err.find("warning: Please ensure that your execution command is secure.") != std::string::npos;
  };
  for (const char* level : {"debug", "info", "warning"}) EXPECT_TRUE(said(level)) << level;
  for (const char* level : {"error", "fatal", "critical"}) EXPECT_FALSE(said(level)) << level;
  const auto notes = [](const std::string& level) { return tensortap(llm({"--explain", "-er", "1", "-l", level})).err; };
  EXPECT_THAT(notes("info"), HasSubstr("-er: rounds come in pairs"));
  EXPECT_THAT(notes("warning"), Not(HasSubstr("-er: ")));
}

// msit sets it in its own process; the caller's umask stays as it is.
TEST(Llm, LeavesTheUmaskOfTheCallerAlone) {
  const mode_t before = umask(0022);
  tensortap(llm({"--explain"}));
  EXPECT_EQ(umask(before), mode_t{0022});
}

TEST(Llm, TheAliasIsAFunctionForShells) {
  const Done done = tensortap("install-alias msit");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, StartsWith("msit() {\n"));
  EXPECT_EQ(tensortap("install-alias msit --json").object()["script"], done.out);
  EXPECT_THAT(tensortap("install-alias mist").err, HasSubstr("Did you mean \"msit\"?"));
}

}  // namespace
}  // namespace command
