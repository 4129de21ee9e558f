#include "serve/source_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/temporary_folder.h"

namespace tensortap {
namespace {

// root/train.py and outside/settings.py, of 20 lines each.
class SourceFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* place : {"/root/train.py", "/outside/settings.py"}) {
      const std::string path = folder_.path() + place;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      std::ofstream file(path);
      for (int i = 1; i <= 20; ++i) file << "  line " << i << "\n";
    }
    auto files = SourceFiles::with({root()});
    ASSERT_TRUE(files.ok());
    files_ = *files;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    later_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() + 60'000'000'000;
  }
  [[nodiscard]] std::string root() const { return folder_.path() + "/root"; }
  [[nodiscard]] std::string outside() const { return folder_.path() + "/outside/settings.py"; }
  [[nodiscard]] Json lines(const std::string& location, const std::string& recorded = "") const {
    return files_.lines_json(location, recorded, later_ns_);
  }

  TemporaryFolder folder_;
  SourceFiles files_;
  int64_t later_ns_ = 0;
};

TEST_F(SourceFilesTest, LinesAreThoseAroundTheLine) {
  for (const std::string& file : {root() + "/train.py", std::string("train.py")}) {
    const Json found = lines(file + ":10");
    EXPECT_EQ(found.at("first"), 6);
    EXPECT_EQ(found.at("line"), 10);
    EXPECT_EQ(found.at("lines").front(), "  line 6");
    EXPECT_EQ(found.at("lines").size(), 8U);
    EXPECT_EQ(found.at("read"), std::filesystem::canonical(root()).string() + "/train.py");
  }
  EXPECT_EQ(lines("train.py:1").at("lines").front(), "  line 1");
  for (const char* none : {"train.py:99", "train.py:0", "train.py", "other.py:1", ""}) EXPECT_EQ(lines(none), nullptr) << none;
}

TEST_F(SourceFilesTest, NoOtherFileIsRead) {
  EXPECT_EQ(lines(outside() + ":10"), nullptr);
  EXPECT_EQ(lines("../outside/settings.py:10"), nullptr);
  EXPECT_EQ(lines(root() + "/../outside/settings.py:10"), nullptr);
  ASSERT_EQ(symlink(outside().c_str(), (root() + "/link.py").c_str()), 0);
  EXPECT_EQ(lines("link.py:10"), nullptr);
  ASSERT_EQ(symlink("../outside", (root() + "/way").c_str()), 0);
  EXPECT_EQ(lines("way/settings.py:10"), nullptr);
  std::filesystem::copy_file(root() + "/train.py", root() + "/secret.txt");
  EXPECT_EQ(lines("secret.txt:10"), nullptr) << "not the source of a program";
  ASSERT_EQ(mkfifo((root() + "/pipe.py").c_str(), 0600), 0);
  EXPECT_EQ(lines("pipe.py:1"), nullptr);
  std::filesystem::create_directory(folder_.path() + "/root2");
  std::filesystem::copy_file(outside(), folder_.path() + "/root2/a.py");
  EXPECT_EQ(lines(folder_.path() + "/root2/a.py:1"), nullptr) << "a folder whose name begins like the root's";
}

TEST_F(SourceFilesTest, AFileThatIsNewerThanTheDumpIsNotWhatRan) {
  EXPECT_EQ(files_.lines_json("train.py:10", "", later_ns_ - 3'600'000'000'000), nullptr);
}

TEST_F(SourceFilesTest, TheRecordedLineDecides) {
  EXPECT_EQ(lines("train.py:10", "line 10").at("lines").size(), 8U);
  for (const auto& [location, recorded] : {std::pair("train.py:10", "line eleven"), {"gone.py:10", "x = 1"}}) {
    const Json found = lines(location, recorded);
    EXPECT_EQ(found.at("lines"), Json({recorded})) << location;
    EXPECT_EQ(found.at("first"), 10);
    EXPECT_EQ(found.at("read"), nullptr);
  }
  EXPECT_EQ(lines(outside() + ":10", "line 10").at("read"), nullptr) << "the text alone opens no other folder";
}

TEST_F(SourceFilesTest, AFolderThatIsNoneIsNamed) {
  const auto files = SourceFiles::with({folder_.path() + "/none"});
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(files.status().message().find("none: not a folder"), std::string::npos);
  EXPECT_FALSE(SourceFiles::with({outside()}).ok());
}

}  // namespace
}  // namespace tensortap
