// A dump is all its processes, ranks and models: what `find`, `ls`, `show`, `report` and `watch-diff` say of a folder with several.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto kCopy = fs::copy_options::recursive;

class Parts : public SuiteFolder<Parts> {
 public:
  // "good": two processes without anything to find. "bad": the second made an Inf of the same model's finite input.
  static void make() {
    write(path("good.onnx"), small_model());
    write(path("bad.onnx"), nonfinite_model());
    write(path("zero.npy"), npy({2, 3}, {1, 2, 0, 4, 5, 6}));
    ASSERT_EQ(at("run good.onnx --stats --out good").code, 0);
    ASSERT_EQ(at("run good.onnx --stats --runs 2 --out good/process_7").code, 0);
    call("good/process_7", "SpawnProcess-1");
    ASSERT_EQ(at("run good.onnx --stats --out bad").code, 0);
    ASSERT_EQ(at("run bad.onnx --input x=zero.npy --full --out bad/process_7").code, 0);
    call("bad/process_7", "SpawnProcess-1");
  }

 protected:
  // What the program calls the process of a dump.
  static void call(const std::string& dump, const std::string& name) {
    const std::string file = path(dump + "/run.json");
    Json manifest = Json::parse(read(file));
    manifest["process"]["name"] = name;
    write(file, manifest.dump());
  }
  // A copy that a test may damage.
  static std::string copy(const std::string& dump, const std::string& name) {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::copy(path(dump), path(name), kCopy);
    return path(name);
  }
};

TEST_F(Parts, FindLooksAtAllAndNamesTheProcessThatFoundSomething) {
  const Done done = at("find bad");
  EXPECT_EQ(done.code, 1) << done.said();
  EXPECT_THAT(lines_of(done.out).front(), "findings in process_7 (SpawnProcess-1): 1 of 2 processes");
  EXPECT_THAT(done.out, AllOf(HasSubstr("\nprocess_7 (SpawnProcess-1)\n"), HasSubstr("+Inf"), HasSubstr("\nfirst (")));
  const Json answer = at("find bad --json").object();
  EXPECT_EQ(answer.at("part"), "process_7");
  EXPECT_EQ(answer.at("role"), "SpawnProcess-1");
  const Json alone = at("find bad/process_7 --json").object();
  EXPECT_EQ(answer.at("first_nonfinite"), alone.at("first_nonfinite"));
  EXPECT_FALSE(alone.contains("parts"));
  ASSERT_EQ(answer.at("parts").size(), 2U);
  EXPECT_EQ(answer.at("parts").at(0).at("part"), "first");
  EXPECT_EQ(answer.at("parts").at(0).at("finds"), false);
  EXPECT_THAT(answer.at("parts").at(0).at("role").get<std::string>(), HasSubstr("command_test"));
  EXPECT_EQ(answer.at("looked_at").at("text"), "2 processes");
}

TEST_F(Parts, WithoutAFindingFindSaysAtHowManyItLooked) {
  const Done done = at("find good");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(lines_of(done.out).front(), "no NaN and no Inf in 2 processes");
  copy("good/process_7", "ranks/rank_0");
  copy("good/process_7", "ranks/rank_1");
  EXPECT_EQ(lines_of(at("find ranks").out).front(), "no NaN and no Inf in 2 ranks");
  copy("good/process_7", "ranks/rank_1/process_9");
  EXPECT_EQ(lines_of(at("find ranks").out).front(), "no NaN and no Inf in 3 processes of 2 ranks");
  copy("good/process_7", "models");
  copy("good/process_7", "models/model_b");
  EXPECT_EQ(lines_of(at("find models").out).front(), "no NaN and no Inf in 2 dumps of 1 process");
}

TEST_F(Parts, KernelsThatRanUnseenInOneProcessAreSaid) {
  copy("good", "fused");
  Json manifest = Json::parse(read(path("fused/process_7/run.json")));
  manifest["ops"]["not_captured"] = {
      {{"reason", "kernels fused by torch.compile; exec --compile captures ops"}, {"count", 1}, {"examples", Json::array()}}};
  write(path("fused/process_7/run.json"), manifest.dump());
  const Done done = at("find fused");
  EXPECT_EQ(done.code, 3) << done.said();
  EXPECT_EQ(lines_of(done.out).front(), "no NaN and no Inf in 2 processes; fused kernels ran unseen in 1");
  EXPECT_THAT(done.out, HasSubstr("not captured: 1 kernels fused by torch.compile"));
}

TEST_F(Parts, AChoiceIsByNameFolderOrRole) {
  EXPECT_EQ(at("find bad --part first").code, 0);
  EXPECT_EQ(at("find bad --part process_7").code, 1);
  EXPECT_EQ(at("find bad --part spawnprocess").code, 1);
  EXPECT_EQ(at("find bad --part first --json").object().at("part"), "first");
  EXPECT_EQ(at("find bad --part first,process_7 --json").object().at("parts").size(), 2U);
  const Done done = at("find bad --part process_8");
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, AllOf(HasSubstr("--part \"process_8\""), HasSubstr("process_7 (SpawnProcess-1)")));
}

TEST_F(Parts, APartThatCannotBeReadOrIsIncompleteClearsNothing) {
  for (const char* const gone : {"run.json", "records.npy", ""}) {
    const std::string folder = copy("good", "damaged");
    *gone == '\0' ? static_cast<void>(fs::create_directory(folder + "/process_8"))
                  : static_cast<void>(fs::remove(folder + "/process_7/" + gone));
    const Done done = at("find damaged");
    EXPECT_EQ(done.code, 3) << gone << done.said();
    EXPECT_THAT(done.out, HasSubstr(*gone == '\0' ? "process_8" : "process_7")) << gone;
    const Done json = at("find damaged --json");
    EXPECT_EQ(json.code, 3) << gone;
    EXPECT_EQ(json.object().at("dump").at("complete"), false) << gone;
    fs::remove_all(folder);
  }
  // A finding stays one.
  const std::string folder = copy("bad", "damaged");
  fs::remove(folder + "/run.json");
  EXPECT_EQ(at("find damaged").code, 1);
  fs::remove_all(folder);
}

TEST_F(Parts, OtherQuestionsAreAskedOfAll) {
  const Json suspects = at("find bad --suspects --json").object();
  ASSERT_FALSE(suspects.at("suspects").empty());
  EXPECT_EQ(suspects.at("suspects").front().at("part"), "process_7");
  EXPECT_THAT(at("find bad --suspects").out, HasSubstr(" in process_7\n"));
  EXPECT_EQ(at("find bad --watch tensor_overflow").code, 1);
  EXPECT_EQ(at("find good --watch tensor_overflow").code, 0);
  EXPECT_EQ(at("find good --trends").code, 3) << "one step shows no trend";
  const std::string op = at("ls bad/process_7 --type Exp --json").objects().front().at("op").get<std::string>();
  const Done source = at("find bad --source " + op);
  EXPECT_EQ(source.code, 0) << source.said();
  EXPECT_THAT(source.out, AllOf(HasSubstr("process_7"), HasSubstr(op)));
  EXPECT_NE(at("find good --source " + op).code, 0);
}

TEST_F(Parts, LsListsTheRecordsOfAllWithTheirPart) {
  const auto first = at("ls good --part first --json").objects();
  const auto second = at("ls good/process_7 --json").objects();
  const auto all = at("ls good --json").objects();
  ASSERT_EQ(all.size(), first.size() + second.size());
  EXPECT_EQ(all.front().at("part"), "first");
  EXPECT_EQ(all.back().at("part"), "process_7");
  EXPECT_FALSE(second.front().contains("part"));
  const Done table = at("ls good");
  EXPECT_THAT(table.out, StartsWith("part\t"));
  EXPECT_THAT(table.out, AllOf(HasSubstr("\nprocess_7"), HasSubstr("\nfirst")));
  EXPECT_THAT(table.err, HasSubstr(std::to_string(all.size()) + " of " + std::to_string(all.size()) + " records"));
  // One order over all.
  double before = 1e300;
  for (const Json& one : at("ls bad --sort -numel --json").objects()) {
    EXPECT_LE(one.at("numel"), before);
    before = one.at("numel");
  }
  EXPECT_EQ(at("ls bad --sort -pos_inf --limit 1 --json").objects().front().at("part"), "process_7");
}

TEST_F(Parts, ShowTakesARecordOfOnePartAndAsksWhereSeveralHaveIt) {
  const Json bad = at("ls bad/process_7 --type Exp --slot out --json").objects().front();
  const std::string name = bad.at("op").get<std::string>() + ":out0";
  const Done done = at("show bad " + name + " --json");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(done.object().at("part"), "process_7");
  EXPECT_EQ(done.object().at("absmax"), bad.at("absmax"));
  const Done several = at("show good 0");
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, AllOf(HasSubstr("first"), HasSubstr("process_7"), HasSubstr("--part")));
  EXPECT_EQ(at("show good 0 --part process_7 --json").object().at("part"), "process_7");
}

TEST_F(Parts, ComparedProcessesAreThoseOfOneRoleAndNoneIsPassedOver) {
  copy("good", "later");
  fs::rename(path("later/process_7"), path("later/process_12"));
  const Done done = at("compare good later --json");
  EXPECT_EQ(done.code, 0) << done.said();
  std::vector<std::string> parts;
  for (const Json& one : done.objects()) {
    if (one.contains("summary")) parts.push_back(one.at("part"));
  }
  EXPECT_THAT(parts, ElementsAre("first", "process_7"));
  call("later/process_12", "SpawnProcess-2");
  const Done other = at("compare good later");
  EXPECT_EQ(other.code, 3) << other.said();
  EXPECT_THAT(other.err, AllOf(HasSubstr("good/process_7 (SpawnProcess-1) has no counterpart in later"), HasSubstr("later/process_12")));
  fs::remove_all(path("later/process_12"));
  EXPECT_EQ(at("compare good later").code, 3);
}

TEST_F(Parts, AReportBeginsWithAllAndShowsTheOneThatFoundSomething) {
  const Done done = at("report bad --out parts.html");
  ASSERT_EQ(done.code, 0) << done.said();
  const std::string page = read(path("parts.html"));
  EXPECT_THAT(page, HasSubstr("Findings in process_7 (SpawnProcess-1): 1 of 2 processes. This page shows process_7 (SpawnProcess-1)."));
}

}  // namespace
}  // namespace command
