#include "base/running_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/temporary_folder.h"
#include "base/text.h"

namespace tensortap {
namespace {

using testing::HasSubstr;

// The variables of the two places, for one test.
class Places : public testing::Test {
 protected:
  Places() {
    setenv("XDG_RUNTIME_DIR", (scratch_.path() + "/run").c_str(), 1);
    setenv("TMPDIR", (scratch_.path() + "/tmp").c_str(), 1);
    std::filesystem::create_directory(scratch_.path() + "/tmp");
  }
  ~Places() override {
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("TMPDIR");
  }
  void make(const std::string& path, mode_t mode) {
    ASSERT_EQ(mkdir((scratch_.path() + path).c_str(), 0700), 0);
    ASSERT_EQ(chmod((scratch_.path() + path).c_str(), mode), 0);
  }
  [[nodiscard]] std::string temporary() const { return concat(scratch_.path(), "/tmp/tensortap-", geteuid()); }

  TemporaryFolder scratch_;
};

TEST_F(Places, TheRuntimeFolderComesFirst) {
  make("/run", 0700);
  EXPECT_EQ(*make_running_folder(), scratch_.path() + "/run/tensortap");
  EXPECT_EQ(running_folders(), std::vector<std::string>{scratch_.path() + "/run/tensortap"});
}

TEST_F(Places, WithoutItOneInTheTemporaryFolderIsTheUsersAlone) {
  EXPECT_TRUE(running_folders().empty());
  EXPECT_EQ(*make_running_folder(), temporary()) << "the folder that the variable names does not exist";
  struct stat info {};
  ASSERT_EQ(stat(temporary().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_EQ(*make_running_folder(), temporary());
}

TEST_F(Places, WhatIsOpenToOthersOrALinkIsNotUsed) {
  make("/open", 0755);
  std::filesystem::create_directory_symlink(scratch_.path() + "/open", temporary());
  EXPECT_THAT(make_running_folder().status().message(), HasSubstr("is no folder"));
  EXPECT_TRUE(running_folders().empty());
  std::filesystem::remove(temporary());
  ASSERT_EQ(mkdir(temporary().c_str(), 0700), 0);
  ASSERT_EQ(chmod(temporary().c_str(), 0770), 0);
  EXPECT_THAT(make_running_folder().status().message(), HasSubstr("open to other users"));
  ASSERT_EQ(chmod(temporary().c_str(), 0700), 0);
  ASSERT_TRUE(make_running_folder().ok());
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(temporary().c_str(), 4321, 4321), 0);
  EXPECT_THAT(make_running_folder().status().message(), HasSubstr("belongs to another user"));
  EXPECT_TRUE(running_folders().empty());
}

TEST_F(Places, FilesAreReadByNoLinkAndOfTheirOwnerAlone) {
  const std::string path = scratch_.path() + "/file";
  EXPECT_EQ(read_owned_file(path, geteuid()).status().code(), StatusCode::kNotFound);
  std::ofstream(path) << "text";
  EXPECT_EQ(*read_owned_file(path, geteuid()), "text");
  EXPECT_THAT(read_owned_file(path, geteuid() + 1).status().message(), HasSubstr("belongs to user"));
  std::filesystem::create_symlink(path, scratch_.path() + "/link");
  EXPECT_THAT(read_owned_file(scratch_.path() + "/link", geteuid()).status().message(), HasSubstr("symbolic link"));
  ASSERT_EQ(mkfifo((scratch_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_owned_file(scratch_.path() + "/pipe", geteuid()).ok()) << "and nobody waits for its writer";
  EXPECT_FALSE(read_owned_file(scratch_.path() + "/tmp", geteuid()).ok());
  std::filesystem::resize_file(path, kMostControlBytes);
  EXPECT_TRUE(read_owned_file(path, geteuid()).ok());
  std::filesystem::resize_file(path, kMostControlBytes + 1);
  EXPECT_THAT(read_owned_file(path, geteuid()).status().message(), HasSubstr("more than 1048576 bytes"));
}

}  // namespace
}  // namespace tensortap
