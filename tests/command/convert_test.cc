// `tensortap convert`: files that the target already contains, and the rest of a conversion that fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Convert : public testing::Test {
 protected:
  Done at(const std::string& words) { return tensortap(words, {folder_.path()}); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  toy::TempFolder folder_;
};

TEST_F(Convert, LeavesNothingWhereNothingCouldBeConverted) {
  write(path("bad.npy"), "no array");
  write(path("good.npy"), npy({2}, {1, 2}));
  std::filesystem::create_directory(path("empty"));
  std::filesystem::create_directory(path("there"));
  struct Row {
    std::string words;
    int code;
    std::string message;
  };
  const std::vector<Row> rows = {{"convert bad.npy out", 3, "bad.npy: not an npy file"},
                                 {"convert bad.npy out/below/that", 3, "not an npy file"},
                                 {"convert bad.npy out --to npz", 3, "not an npy file"},
                                 {"convert bad.npy out/one.npz --to npz", 3, "not an npy file"},
                                 {"convert bad.npy there", 3, "not an npy file"},
                                 {"convert empty out", 2, "empty: there is no file in it to convert"},
                                 {"convert empty out --to tap", 2, "empty"},
                                 {"convert good.npy out --to mindspore", 2, "a dump, not files"}};
  for (const Row& row : rows) {
    const Done done = at(row.words);
    EXPECT_EQ(done.code, row.code) << row.words << "\n" << done.said();
    EXPECT_THAT(done.err, HasSubstr(row.message)) << row.words;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << row.words;
  }
  EXPECT_TRUE(std::filesystem::is_empty(path("there")));
  EXPECT_EQ(at("convert bad.npy good.npy out").code, 3);
  EXPECT_THAT(names_in(path("out")), ElementsAre("convert_failed_file_list.txt", "good.npy"));
  EXPECT_EQ(read(path("out/convert_failed_file_list.txt")), "bad.npy\n");
}

TEST_F(Convert, RefusesToWriteIntoWhatItConverts) {
  std::filesystem::create_directories(path("files/below"));
  std::filesystem::create_symlink("files", path("link"));
  for (const char* name : {"x.npy", "files/y.npy", "files/below/z.npy"}) write(path(name), npy({2}, {1, 2}));
  const auto before = contents(folder_.path());
  struct Row {
    std::string words;
    int code;
    std::string message;
  };
  const std::vector<Row> rows = {{"convert x.npy x.npy", 2, "x.npy: is what is converted"},
                                 {"convert x.npy .", 3, "x.npy: is what is converted"},
                                 {"convert files/y.npy x.npy files", 3, "y.npy: is what is converted"},
                                 {"convert files files --to npz", 2, "files: is what is converted"},
                                 {"convert files ./link/ --to npz", 2, "is what is converted"},
                                 {"convert files files/new --to npz", 2, "files/new: lies in files, which is converted"}};
  for (const Row& row : rows) {
    const Done done = at(row.words);
    EXPECT_EQ(done.code, row.code) << row.words << "\n" << done.said();
    EXPECT_THAT(done.err, HasSubstr(row.message)) << row.words;
    std::filesystem::remove(path("files/x.npy"));  // the other file of a list
    std::filesystem::remove(path("convert_failed_file_list.txt"));
    std::filesystem::remove(path("files/convert_failed_file_list.txt"));
    EXPECT_EQ(contents(folder_.path()), before) << row.words;
  }
  EXPECT_EQ(at("convert files/y.npy .").code, 0) << "beside other files";
}

TEST_F(Convert, SaysWhichFilesItReplaces) {
  write(path("x.npy"), npy({2}, {1, 2}));
  write(path("y.npy"), npy({1}, {3}));
  EXPECT_EQ(at("convert x.npy out --json").object()["replaced"], 0);
  EXPECT_EQ(at("convert y.npy out --json").object()["replaced"], 0) << "another file beside it";
  const Done again = at("convert x.npy y.npy out");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("2 files that were there were replaced"));
}

TEST_F(Convert, WritesADumpIntoAFolderOfItsOwn) {
  if (!has_runtime()) GTEST_SKIP() << "no ONNX Runtime";
  write(path("model.onnx"), small_model());
  ASSERT_EQ(at("run model.onnx --full --out dump").code, 0);
  ASSERT_EQ(at("run model.onnx --out bare").code, 0);
  for (const std::string to : {"npy", "safetensors", "polygraphy", "onnx", "tap"}) {
    const std::string words = "convert dump " + to + " --to " + to;
    ASSERT_EQ(at(words).code, 0) << words;
    const auto before = contents(path(to));
    const Done again = at(words);
    EXPECT_EQ(again.code, 2) << words;
    EXPECT_THAT(again.err, HasSubstr(to + " is not empty (it holds ")) << words;
    EXPECT_EQ(contents(path(to)), before) << words;
    if (to == "tap") continue;
    const Done nothing = at("convert bare out --to " + to);
    EXPECT_EQ(nothing.code, 2) << words;
    EXPECT_THAT(nothing.err, HasSubstr("no record has its values")) << words;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << words;
  }
  // Trees of other systems hold the dumps of several runs.
  for (const std::string to : {"ge", "mindspore", "msit"}) {
    for (int run = 0; run < 2; ++run) EXPECT_EQ(at("convert dump tree_" + to + " --to " + to).code, 0) << to;
    const Done mixed = at("convert dump npy --to " + to);
    EXPECT_EQ(mixed.code, 2) << to;
    EXPECT_THAT(mixed.err, HasSubstr("npy is not empty (it holds ")) << to;
  }
}

}  // namespace
}  // namespace command
