#include "base/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/temporary_folder.h"

namespace tensortap {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    EXPECT_TRUE(make_directories(in("dump")).ok());
    EXPECT_TRUE(write_file_atomically(in("theirs"), "theirs").ok());
  }
  [[nodiscard]] std::string in(const char* name) const { return join_path(scratch_.path(), name); }
  [[nodiscard]] Folder dump() const { return *Folder::open(in("dump")); }
  void expect_theirs() const { EXPECT_EQ(*read_file(in("theirs")), "theirs"); }

 private:
  TemporaryFolder scratch_;
};

TEST_F(FolderTest, WritesThroughNoLink) {
  fs::create_symlink(in("theirs"), in("dump/link"));
  fs::create_hard_link(in("theirs"), in("dump/hard"));
  fs::create_symlink(in("new"), in("dump/dangling"));
  for (const char* name : {"link", "hard", "dangling"}) {
    for (const int flags : {O_WRONLY, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_APPEND, O_RDONLY}) {
      const auto file = dump().open_file(name, flags);
      ASSERT_FALSE(file.ok()) << name;
      EXPECT_EQ(file.status().code(), StatusCode::kIo);
      EXPECT_THAT(file.status().message(), HasSubstr("link"));
    }
    EXPECT_FALSE(File::open(join_path(in("dump"), name), O_WRONLY | O_TRUNC).ok());
  }
  expect_theirs();
  EXPECT_FALSE(path_exists(in("new")));
}

TEST_F(FolderTest, ReplacesAndRemovesALinkAndNotItsTarget) {
  fs::create_symlink(in("theirs"), in("dump/link"));
  fs::create_symlink(in("theirs"), in("dump/other"));
  EXPECT_TRUE(dump().replace_file("link", "ours").ok());
  EXPECT_TRUE(dump().remove("other").ok());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(in("dump/link"))));
  EXPECT_FALSE(dump().contains("other"));
  expect_theirs();
}

TEST_F(FolderTest, ErrorsHaveTheNameThatTheFileGets) {
  const Folder gone = dump();
  fs::remove(in("dump"));
  for (const Status& failed : {gone.replace_file("ours", "ours"), gone.rename("temporary", "ours"),
                               gone.make_temporary("temporary", "ours").status(), write_file_atomically(in("dump/ours"), "ours")}) {
    EXPECT_THAT(failed.message(), testing::StartsWith(in("dump/ours") + ": ")) << failed.message();
  }
}

TEST_F(FolderTest, NoPartOfAPathMayBeALinkOrLeadUp) {
  fs::create_directories(in("outside/deep"));
  fs::create_directories(in("dump/a"));
  fs::create_directory_symlink(in("outside"), in("dump/a/link"));
  EXPECT_THAT(dump().below("a/link/deep").status().message(), HasSubstr("link"));
  EXPECT_THAT(dump().make_below("a/link/new", 0700).status().message(), HasSubstr("link"));
  EXPECT_FALSE(dump().below("a/../../outside").ok());
  EXPECT_FALSE(fs::exists(in("outside/new")));
  EXPECT_EQ(dump().below("a/none").status().code(), StatusCode::kNotFound);
  const auto made = dump().make_below("a/b/c", 0700);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->path(), in("dump/a/b/c"));
  EXPECT_TRUE(fs::is_directory(in("dump/a/b/c")));
}

TEST_F(FolderTest, PipesAndDevicesAreNoFiles) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  for (const std::string& path : {in("pipe"), std::string("/dev/zero"), std::string("/dev/null")}) {
    for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT})
      EXPECT_EQ(File::open(path, flags).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(MappedFile::open(path).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(read_file(path).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(write_file_atomically(path, "x").code(), StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(read_file(in("pipe")).status().message(), HasSubstr("is a pipe"));
}

TEST_F(FolderTest, AFileThatIsCutIsNoticed) {
  const auto mapped = MappedFile::open(in("theirs"));
  const auto settled = MappedFile::open_settled(in("theirs"));
  ASSERT_TRUE(mapped.ok() && settled.ok());
  EXPECT_TRUE(mapped->check_still_whole().ok());
  ASSERT_EQ(truncate(in("theirs").c_str(), 2), 0);
  EXPECT_THAT(mapped->check_still_whole().message(), HasSubstr("was cut from 6 to 2 bytes"));
  EXPECT_TRUE(settled->check_still_whole().ok());
  EXPECT_EQ(settled->text(), "theirs");
}

}  // namespace
}  // namespace tensortap
