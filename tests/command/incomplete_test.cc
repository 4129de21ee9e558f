// Every kind of damage to a native dump, and what every command answers: the exit code and the first line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kFine = 0;
constexpr int kFound = 1;
constexpr int kFailed = 3;

struct Damaging {
  std::string name;
  std::string file;
  enum { kRemoved, kCut, kReplaced } kind = kRemoved;
  double kept = 0;  // of what is cut
};

std::vector<Damaging> every_damage() {
  std::vector<Damaging> all;
  for (const char* file : {"run.json", "ops.jsonl", "records.npy", "tensors.npz"}) {
    const auto named = [file](const char* what) { return std::string(file) + " " + what; };
    all.push_back({named("removed"), file, Damaging::kRemoved});
    all.push_back({named("empty"), file, Damaging::kCut, 0});
    all.push_back({named("cut in the first bytes"), file, Damaging::kCut, 0.01});
    all.push_back({named("cut at a quarter"), file, Damaging::kCut, 0.25});
    all.push_back({named("cut in the middle"), file, Damaging::kCut, 0.5});
    all.push_back({named("cut near the end"), file, Damaging::kCut, 0.9});
    all.push_back({named("cut by a byte"), file, Damaging::kCut, 1});
    all.push_back({named("of another dump"), file, Damaging::kReplaced});
  }
  return all;
}

class Incomplete : public SuiteFolder<Incomplete> {
 public:
  static void make() {
    write(*folder_ / "model.onnx", small_model());
    write(*folder_ / "nonfinite.onnx", nonfinite_model());
    write(*folder_ / "x.npy", npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    write(*folder_ / "other.npy", npy({2, 3}, {0.25F, -2, 3, 1, 0.5F, -0.5F}));
    write(*folder_ / "zeros.npy", npy({2, 3}, {0, 1, 2, 3, 4, 0}));
    ASSERT_EQ(at("run model.onnx --input x=x.npy --full --runs 4 --out whole").code, kFine);
    // With the same model, the file of the ops would be the same.
    write(*folder_ / "chain.onnx", chain_model());
    ASSERT_EQ(at("run chain.onnx --input x=other.npy --full --runs 4 --out other").code, kFine);
    ASSERT_EQ(at("run model.onnx --input x=other.npy --full --runs 4 --out elsewhere").code, kFine);
    ASSERT_EQ(at("run nonfinite.onnx --input x=zeros.npy --full --runs 3 --out bad").code, kFine);
  }

 protected:
  // A copy of `dump` with the damage.
  static void damage(const std::string& dump, const Damaging& how) {
    fs::remove_all(path("damaged"));
    fs::copy(path(dump), path("damaged"));
    const fs::path file = fs::path(path("damaged")) / how.file;
    if (how.kind == Damaging::kRemoved) fs::remove(file);
    if (how.kind == Damaging::kReplaced) fs::copy_file(fs::path(path("other")) / how.file, file, fs::copy_options::overwrite_existing);
    if (how.kind != Damaging::kCut) return;
    const auto size = fs::file_size(file);
    fs::resize_file(file, how.kept == 1 ? size - 1 : static_cast<uint64_t>(how.kept * static_cast<double>(size)));
  }
  static void forget(const std::string& name) { fs::remove_all(path(name)); }
};

// The exit codes that are right for a command, and where it reports that the dump is incomplete.
struct Asking {
  std::string words;
  std::vector<int> codes;
  enum { kOut, kErr, kAnywhere } where = kOut;
};

std::vector<Asking> every_command() {
  return {
      {"find damaged", {kFailed}},
      {"find damaged --trends", {kFailed}},
      {"find damaged --suspects", {kFailed}},
      {"find damaged --watch tensor_too_large:max_gt=1e30", {kFailed}},
      // What another dump's file holds may differ from what is compared with.
      {"compare damaged whole", {kFailed, kFound}},
      {"compare whole damaged", {kFailed, kFound}},
      // A dump whose ops have no names cannot be read as a rank at all.
      {"ranks damaged", {kFailed, kFound}, Asking::kAnywhere},
      {"replay damaged", {kFailed, kFound}},
      {"watch-diff damaged", {kFailed}},
      {"ls damaged", {kFine}, Asking::kErr},
      {"report damaged --out report.html", {kFine}},
      {"export damaged --out tables", {kFine}},
      {"convert damaged copy --to tap", {kFine, kFailed}},
  };
}

TEST_F(Incomplete, EveryCommandSaysSoInItsFirstLineAndClearsNothing) {
  for (const Damaging& how : every_damage()) {
    damage("whole", how);
    for (const Asking& asked : every_command()) {
      SCOPED_TRACE(how.name + ": " + asked.words);
      for (const char* made : {"tables", "copy", "report.html"}) forget(made);
      const Done done = at(asked.words);
      EXPECT_THAT(asked.codes, testing::Contains(done.code)) << done.said();
      switch (asked.where) {
        case Asking::kOut:
          EXPECT_THAT(done.out, StartsWith("incomplete dump")) << done.said();
          break;
        case Asking::kErr:
          EXPECT_THAT(done.err, HasSubstr("incomplete dump"));
          break;
        case Asking::kAnywhere:
          EXPECT_THAT(done.said(), AnyOf(HasSubstr("incomplete dump"), HasSubstr("no names of their ops")));
          break;
      }
    }
  }
}

TEST_F(Incomplete, JsonTellsWhatIsThereAndWhatWasWritten) {
  damage("whole", {"", "records.npy", Damaging::kCut, 0.75});
  const Json state = at("find damaged --json").object().at("dump");
  EXPECT_EQ(state.at("complete"), false);
  EXPECT_EQ(state.at("state"), "incomplete");
  const int64_t written = read_npy(path("whole/records.npy")).shape.at(0);
  EXPECT_EQ(state.at("written").at("records"), written);
  EXPECT_EQ(state.at("written").at("steps"), 4);
  EXPECT_GT(state.at("found").at("records"), 0);
  EXPECT_LT(state.at("found").at("records"), written);
  EXPECT_FALSE(state.at("reasons").empty());
  for (const char* words : {"find whole --json", "find whole --trends --json", "show whole 0 --json"}) {
    const Json answer = at(words).object();
    EXPECT_EQ(answer.at("dump").at("complete"), true) << words;
    EXPECT_TRUE(answer.at("dump").at("reasons").empty()) << words;
  }
  EXPECT_EQ(at("compare damaged whole --json").objects().back().at("summary").at("dump").at("parts").at(0).at("complete"), false);
  EXPECT_EQ(at("replay damaged --json").objects().back().at("summary").at("dump").at("complete"), false);
  EXPECT_EQ(at("ranks damaged --json").object().at("dump").at("complete"), false);
  EXPECT_EQ(at("ls damaged --json").objects().back().at("dump").at("complete"), false);
  EXPECT_EQ(at("ls whole --json").objects().back().count("dump"), 0U);
}

TEST_F(Incomplete, AWholeDumpIsClearedAsBefore) {
  for (const char* words : {"find whole", "compare whole whole", "ranks whole", "replay whole", "ls whole", "show whole 0"}) {
    const Done done = at(words);
    EXPECT_EQ(done.code, kFine) << words << done.said();
    EXPECT_THAT(done.said(), Not(HasSubstr("incomplete"))) << words;
  }
  EXPECT_EQ(at("find bad").code, kFound);
  EXPECT_EQ(at("compare whole elsewhere").code, kFound);
}

// As a capture leaves it that could not read the memory of a device.
TEST_F(Incomplete, NothingIsClearedThatWasNotLookedAt) {
  constexpr size_t kRow = 576;
  constexpr size_t kValueFlags = 527;
  forget("unseen");
  fs::copy(path("whole"), path("unseen"));
  std::string rows = read(path("unseen/records.npy"));
  rows[rows.size() - 2 * kRow + kValueFlags] = 64;
  write(path("unseen/records.npy"), rows);
  Json manifest = Json::parse(read(path("unseen/run.json")));
  manifest["not_looked_at"] = 1;
  write(path("unseen/run.json"), manifest.dump());
  constexpr auto kSentence = "1 record was not looked at (tensor on a device)";
  for (const char* words : {"find unseen", "compare unseen whole", "compare whole unseen", "replay unseen"}) {
    const Done done = at(words);
    EXPECT_EQ(done.code, kFailed) << words << done.said();
    EXPECT_THAT(lines_of(done.out).front(), HasSubstr(kSentence)) << words;
  }
  const Done found = at("find unseen");
  EXPECT_THAT(found.out, HasSubstr("no NaN and no Inf in the records that were looked at\n" + std::string(kSentence) + "\n"));
  EXPECT_EQ(at("find unseen --json").object().at("not_looked_at"), 1);
  EXPECT_EQ(at("find whole --json").object().at("not_looked_at"), 0);
  EXPECT_THAT(at("ls unseen").err, HasSubstr(kSentence));
  EXPECT_THAT(at("report unseen --out report.html").out, HasSubstr(kSentence));
}

TEST_F(Incomplete, WhatTheManifestKnowsIsAFinding) {
  for (const char* file : {"records.npy", "ops.jsonl"}) {
    damage("bad", {"", file, Damaging::kRemoved});
    const Done done = at("find damaged");
    EXPECT_EQ(done.code, kFound) << file << done.said();
    EXPECT_THAT(lines_of(done.out).front(), StartsWith("incomplete dump")) << file;
    EXPECT_THAT(done.out, HasSubstr("first non-finite value: step 0")) << file;
  }
  damage("bad", {"", "records.npy", Damaging::kRemoved});
  EXPECT_EQ(at("find damaged --json").object().at("first_nonfinite").at("told_by"), "run.json");
}

TEST_F(Incomplete, AManifestThatSaysNothingClearsNothing) {
  for (const char* manifest : {"{}", "[]", "null", R"({"complete": true})"}) {
    damage("whole", {"", "run.json", Damaging::kRemoved});
    write(*folder_ / "damaged/run.json", manifest);
    for (const char* words : {"find damaged", "compare damaged whole"}) {
      const Done done = at(words);
      EXPECT_EQ(done.code, kFailed) << manifest << done.said();
      EXPECT_THAT(done.out, StartsWith("incomplete dump")) << manifest;
    }
  }
}

TEST_F(Incomplete, ARepairedDumpStaysKnownAsIncomplete) {
  for (const Damaging& how : every_damage()) {
    SCOPED_TRACE(how.name);
    damage("whole", how);
    const Done repaired = at("repair damaged");
    ASSERT_EQ(repaired.code, kFine) << repaired.said();
    EXPECT_THAT(repaired.out, Not(StartsWith("whole"))) << repaired.said();
    const Done found = at("find damaged");
    EXPECT_EQ(found.code, kFailed) << found.said();
    EXPECT_THAT(found.out, StartsWith("incomplete dump"));
    EXPECT_THAT(at("repair damaged --dry-run").out, Not(HasSubstr("- "))) << "nothing is left to repair";
  }
  damage("bad", {"", "records.npy", Damaging::kCut, 0.5});
  ASSERT_EQ(at("repair damaged").code, kFine);
  const Json state = at("find damaged --json").object().at("dump");
  EXPECT_EQ(state.at("written").at("records"), read_npy(path("bad/records.npy")).shape.at(0));
  EXPECT_LT(state.at("found").at("records"), state.at("written").at("records"));
}

TEST_F(Incomplete, ACopyOfAnIncompleteDumpIsOneToo) {
  damage("whole", {"", "records.npy", Damaging::kCut, 0.75});
  for (const char* layout : {"tap", "ge", "mindspore"}) {
    forget("copy");
    EXPECT_THAT(at(std::string("convert damaged copy --to ") + layout).out, StartsWith("incomplete dump")) << layout;
    const Done found = at("find copy");
    EXPECT_EQ(found.code, kFailed) << layout << found.said();
    EXPECT_THAT(found.out, StartsWith("incomplete dump")) << layout;
  }
}

TEST_F(Incomplete, ATreeOfAnotherToolIsNotCalledIncomplete) {
  for (const char* layout : {"ge", "mindspore", "msit"}) {
    forget("tree");
    ASSERT_EQ(at(std::string("run model.onnx --input x=x.npy --full --layout ") + layout + " --out tree").code, kFine);
    const Done found = at("find tree --json");
    EXPECT_EQ(found.code, kFine) << layout << found.said();
    EXPECT_NE(found.object().at("dump").at("complete"), false) << layout;
  }
}

}  // namespace
}  // namespace command
