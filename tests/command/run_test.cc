// `tensortap run` and `explain`: which records of small models are captured, and how they are summarised.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<float> kX = {0.5F, -1, 2, 1.5F, 0.25F, -0.75F};

// softmax(relu(x @ w + b)) of small_model, in doubles.
std::vector<double> small_output(const std::vector<float>& x) {
  std::vector<double> y;
  for (size_t row = 0; row < 2; ++row) {
    std::vector<double> scores;
    for (size_t column = 0; column < 4; ++column) {
      double sum = small_bias()[column];
      for (size_t i = 0; i < 3; ++i) sum += double{x[row * 3 + i]} * double{small_weights()[i * 4 + column]};
      scores.push_back(std::exp(std::max(sum, 0.0)));
    }
    const double whole = scores[0] + scores[1] + scores[2] + scores[3];
    for (const double score : scores) y.push_back(score / whole);
  }
  return y;
}

class Run : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
    write(folder_ / "model.onnx", small_model());
    write(folder_ / "nonfinite.onnx", nonfinite_model());
    write(folder_ / "x.npy", npy({2, 3}, kX));
    write(folder_ / "zeros.npy", npy({2, 3}, {0, 1, 2, 3, 4, 0}));
  }
  Done run(const std::string& words) { return tensortap("run " + words, {folder_.path()}); }
  // The records that are of ops of the model, and no inputs and weights.
  std::vector<Json> records(const std::string& dump) {
    std::vector<Json> found;
    for (const Json& record : tensortap("ls " + dump + " --json", {folder_.path()}).objects()) {
      if (record["type"] != "Input" && record["type"] != "Initializer") found.push_back(record);
    }
    return found;
  }
  toy::TempFolder folder_;
};

TEST_F(Run, GivesTheSummaryAsOneObject) {
  const Done done = run("model.onnx --stats --verify --overhead --json --out d");
  ASSERT_EQ(done.code, 0) << done.said();
  const Json summary = done.object();
  // In the order of the text.
  size_t place = 0;
  for (const char* key :
       {"dump", "layout", "source", "steps", "ops", "records", "bytes", "lost", "identical", "overhead", "first_nonfinite"}) {
    ASSERT_TRUE(summary.contains(key)) << key;
    const size_t found = done.out.find("\"" + std::string(key) + "\":", place);
    EXPECT_NE(found, std::string::npos) << key;
    place = found;
  }
  EXPECT_EQ(summary["identical"], true);
  EXPECT_GT(summary["overhead"], 0);
  EXPECT_EQ(summary["ops"]["captured"], summary["ops"]["expected"]);
  EXPECT_GT(summary["ops"]["captured"], 0);
  EXPECT_TRUE(summary["ops"]["not_captured"].empty());
  EXPECT_EQ(summary["lost"], 0);
  EXPECT_TRUE(summary["first_nonfinite"].is_null());
  EXPECT_EQ(summary["records"], read_npy(folder_ / "d/records.npy").shape.at(0));
}

TEST_F(Run, SaysNullForWhatWasNotMeasured) {
  const Json summary = run("model.onnx --json --out d").object();
  EXPECT_TRUE(summary["identical"].is_null());
  EXPECT_TRUE(summary["overhead"].is_null());
}

TEST_F(Run, TellsPeopleOnStderrAndNothingWithQuiet) {
  const Done loud = run("model.onnx --verify --out a");
  EXPECT_EQ(loud.out, "");
  for (const char* word : {"dump", "ops", "records", "identical", "a"}) EXPECT_THAT(loud.err, HasSubstr(word));
  EXPECT_THAT(loud.err, Not(HasSubstr("\x1b")));
  const Done quiet = run("model.onnx --quiet --out b");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.said(), "");
}

TEST_F(Run, FindsARuntimeInTheCurrentFolderByANameWithoutASlash) {
  fs::create_symlink(getenv("TENSORTAP_ONNXRUNTIME"), folder_ / "libort.so");
  EXPECT_EQ(run("model.onnx --runtime libort.so --out d").code, 0);
  const Surroundings by_variable = {folder_.path(), {{"TENSORTAP_ONNXRUNTIME", "libort.so"}}};
  EXPECT_EQ(tensortap("run model.onnx --out e", by_variable).code, 0);
  const Done missing = run("model.onnx --runtime libnone.so --out f");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("libnone.so"));
}

TEST_F(Run, SavesTheOutputsOfEveryStep) {
  ASSERT_EQ(run("model.onnx --input x=x.npy --runs 2 --save-outputs o --out d").code, 0);
  EXPECT_THAT(names_in(folder_ / "o"), ElementsAre("y.npy", "y@1.npy"));
  const auto expected = small_output(kX);
  for (const char* name : {"o/y.npy", "o/y@1.npy"}) {
    const Array saved = read_npy(folder_ / name);
    EXPECT_EQ(saved.shape, (std::vector<int64_t>{2, 4}));
    const auto values = saved.floats();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6);
  }
}

TEST_F(Run, CarriesAnOutputToAnInput) {
  write(folder_ / "m.onnx", model({{"Mul", "double", {"x", "two"}, {"y"}}}, {1}, {{"two", {}, {2}}}));
  write(folder_ / "one.npy", npy({1}, {1}));
  ASSERT_EQ(run("m.onnx --input x=one.npy --runs 5 --carry y=x --save-outputs o --out d").code, 0);
  const auto value = [&](const std::string& name) { return read_npy(folder_ / ("o/" + name)).floats().at(0); };
  EXPECT_EQ(value("y.npy"), 2);
  EXPECT_EQ(value("y@1.npy"), 4);
  EXPECT_EQ(value("y@4.npy"), 32);
}

TEST_F(Run, FillsOpenDimensionsAndSaysWhatItMadeUp) {
  write(folder_ / "m.onnx", model({{"Relu", "relu", {"x"}, {"y"}}}, {-1, 3}));
  const Done done = run("m.onnx --dim N=5 --seed 3 --save-outputs o --out d");
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(read_npy(folder_ / "o/y.npy").shape, (std::vector<int64_t>{5, 3}));
  EXPECT_THAT(done.err, HasSubstr("seed"));
  ASSERT_EQ(run("m.onnx --dim N=5 --seed 3 --save-outputs p --out e").code, 0);
  EXPECT_EQ(read(folder_ / "o/y.npy"), read(folder_ / "p/y.npy"));
  ASSERT_EQ(run("m.onnx --dim N=5 --seed 4 --save-outputs q --out f").code, 0);
  EXPECT_NE(read(folder_ / "o/y.npy"), read(folder_ / "q/y.npy"));
}

TEST_F(Run, TakesTheSelectedOpsStepsAndSlots) {
  ASSERT_EQ(run("model.onnx --types Softmax --steps 1 --runs 3 --slots out --out d").code, 0);
  const auto found = records("d");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["type"], "Softmax");
  EXPECT_EQ(found[0]["step"], 1);
  EXPECT_EQ(found[0]["slot"], "out0");
}

TEST_F(Run, KeepsOnlyWhatAConditionSays) {
  const Done done =
      tensortap({"run", "nonfinite.onnx", "--input", "x=zeros.npy", "--where", "pos_inf > 0", "--out", "d"}, {folder_.path()});
  ASSERT_EQ(done.code, 0) << done.said();
  const auto found = tensortap("ls d --json", {folder_.path()}).objects();
  EXPECT_FALSE(found.empty());
  for (const Json& record : found) EXPECT_GT(record["pos_inf"], 0);
}

TEST_F(Run, PutsOptionsOnTopOfAConfig) {
  write(folder_ / "config.json", R"({"payload": "full"})");
  const Done done = run("model.onnx --config config.json --types Softmax --out d");
  ASSERT_EQ(done.code, 0) << done.said();
  const auto found = records("d");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["type"], "Softmax");
  EXPECT_FALSE(found[0]["file"].get<std::string>().empty());
}

TEST_F(Run, IsExplainedBeforeItIsDone) {
  const Json plain = tensortap("explain --types Softmax --tensors --json").object();
  EXPECT_THAT(plain["plan"].dump(), HasSubstr("Softmax"));
  const Done done = tensortap("explain --types Softmax --model model.onnx --json", {folder_.path()});
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(done.object()["ops"], Json::array({"softmax_1"}));
  EXPECT_GE(lines_of(tensortap("explain --types Softmax --model model.onnx", {folder_.path()}).out).size(), 2U);
}

TEST_F(Run, StopsAtALimitWhichIsNoFailure) {
  const std::string words = "model.onnx --full --runs 500 --max-bytes 100000 ";
  const Done done = run(words + "--out d --json");
  ASSERT_EQ(done.code, 0) << done.said();
  const Json summary = done.object();
  ASSERT_EQ(summary["losses"].size(), 1U);
  const Json loss = summary["losses"][0];
  EXPECT_EQ(loss["reason"], "limit: max_bytes");
  EXPECT_EQ(loss["kind"], "limit");
  EXPECT_EQ(loss["count"], summary["lost"]);
  EXPECT_GT(loss["count"], 0);
  EXPECT_THAT(done.err, HasSubstr("lost: " + loss["count"].dump() + " limit: max_bytes ("));
  blkcnt_t blocks = 0;
  for (const std::string& name : names_in(folder_ / "d")) {
    struct stat status {};
    ASSERT_EQ(stat((folder_ / ("d/" + name)).c_str(), &status), 0);
    blocks += status.st_blocks;
  }
  EXPECT_LE(blocks * 512, 100'000);
  EXPECT_EQ(run(words + "--strict --out e").code, 1);
}

// Who may read the files: folders and files, by default and shared; files made from a dump belong to its owner.
TEST_F(Run, MakesFoldersAndFilesOfTheModeThatWasAskedFor) {
  const auto expect_modes = [&](const std::string& below, mode_t folder, mode_t file) {
    std::set<mode_t> folders;
    std::set<mode_t> files;
    struct stat status {};
    ASSERT_EQ(stat((folder_ / below).c_str(), &status), 0);
    folders.insert(status.st_mode & 07777U);
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / below)) {
      ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
      (entry.is_directory() ? folders : files).insert(status.st_mode & 07777U);
    }
    EXPECT_EQ(folders, std::set<mode_t>{folder}) << below;
    EXPECT_EQ(files, std::set<mode_t>{file}) << below;
  };
  const mode_t before = umask(022);
  for (const std::string mode : {"private", "shared"}) {
    const mode_t folder = mode == "private" ? 0700 : 0755;
    const mode_t file = mode == "private" ? 0600 : 0644;
    const std::string dump = mode + "_dump";
    const std::string outputs = mode + "_outputs";
    const std::string option = mode == "private" ? "" : "--mode shared ";
    EXPECT_EQ(run("model.onnx --full --runs 3 " + option + "--save-outputs " + outputs + " --out " + dump).code, 0);
    expect_modes(dump, folder, file);
    expect_modes(outputs, 0700, 0600);
    fs::remove(folder_ / (dump + "/run.json"));
    const std::string archive = folder_ / (dump + "/tensors.npz");
    fs::resize_file(archive, fs::file_size(archive) * 2 / 3);
    EXPECT_EQ(tensortap("repair " + dump, {folder_.path()}).code, 0);
    EXPECT_TRUE(fs::exists(folder_ / (dump + "/run.json")));
    expect_modes(dump, folder, file);
    EXPECT_EQ(tensortap("convert " + outputs + " " + mode + "_converted --to dump_data", {folder_.path()}).code, 0);
    expect_modes(mode + "_converted", 0700, 0600);
  }
  umask(before);
  const Done refused = run("model.onnx --mode secret --out new");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, testing::AllOf(HasSubstr("private"), HasSubstr("shared")));
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

}  // namespace
}  // namespace command
