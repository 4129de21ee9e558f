#include "base/code_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace tensortap {
namespace {

// root/outer/inner/code.so, everything 0700 and ours.
class CodeFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_directories(inner()).ok());
    ASSERT_TRUE(write_file_atomically(file(), "code").ok());
    for (const std::string& path : {outer(), inner(), file()}) set_mode(path, 0700);
  }
  [[nodiscard]] std::string outer() const { return folder_.path() + "/outer"; }
  [[nodiscard]] std::string inner() const { return outer() + "/inner"; }
  [[nodiscard]] std::string file() const { return inner() + "/code.so"; }
  static void set_mode(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0) << path; }
  static void give_away(const std::string& path) { ASSERT_EQ(lchown(path.c_str(), 4321, 4321), 0) << path; }
  void expect_refused(const std::string& path, const std::string& guilty, const std::string& own_folder = "") const {
    const auto found = trusted_code_file(path, own_folder);
    ASSERT_FALSE(found.ok()) << *found;
    EXPECT_EQ(found.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(found.status().message().find("\"" + guilty + "\""), std::string::npos) << found.status().message();
  }
  TemporaryFolder folder_;
};

TEST_F(CodeFile, OfTheUserAloneIsTrusted) {
  const auto found = trusted_code_file(file(), "");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, std::filesystem::canonical(file()).string());
  set_mode(file(), 0755);
  EXPECT_TRUE(trusted_code_file(file(), "").ok());
  EXPECT_TRUE(trusted_code_folder(inner(), "").ok());
}

TEST_F(CodeFile, ThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0720U, 0702U, 0777U}) {
    set_mode(file(), mode);
    expect_refused(file(), file());
  }
}

TEST_F(CodeFile, InAFolderThatOthersCanWriteIsRefused) {
  for (const std::string& part : {inner(), outer(), folder_.path()}) {
    for (const mode_t mode : {0770U, 0707U, 01770U}) {
      set_mode(part, mode);
      // Root's own folders like /tmp are taken; a test that root runs makes one.
      if (mode == 01770U && geteuid() == 0) {
        EXPECT_TRUE(trusted_code_file(file(), "").ok());
        continue;
      }
      expect_refused(file(), part);
      EXPECT_FALSE(trusted_code_folder(inner(), "").ok());
    }
    set_mode(part, 0700);
  }
  EXPECT_TRUE(trusted_code_file(file(), "").ok());
}

TEST_F(CodeFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const std::string& part : {file(), inner(), outer()}) {
    give_away(part);
    expect_refused(file(), part);
    ASSERT_EQ(chown(part.c_str(), 0, 0), 0);
  }
}

TEST_F(CodeFile, BehindALinkIsJudgedWhereItIs) {
  const std::string link = folder_.path() + "/link";
  ASSERT_EQ(symlink("outer/../outer/inner", link.c_str()), 0);
  const auto found = trusted_code_file(link + "/code.so", "");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, std::filesystem::canonical(file()).string());
  set_mode(outer(), 0777);
  expect_refused(link + "/code.so", outer());
}

TEST_F(CodeFile, BehindALinkOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string link = folder_.path() + "/link";
  ASSERT_EQ(symlink(file().c_str(), link.c_str()), 0);
  give_away(link);
  expect_refused(link, link);
}

TEST_F(CodeFile, ThatIsNoFileIsAnError) {
  EXPECT_EQ(trusted_code_file(folder_.path() + "/none", "").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(trusted_code_file(file() + "/below", "").ok());
  EXPECT_EQ(trusted_code_file(inner(), "").status().code(), StatusCode::kUnsupported);
  EXPECT_FALSE(trusted_code_folder(file(), "").ok());
  const std::string pipe = inner() + "/pipe.so";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(trusted_code_file(pipe, "").status().code(), StatusCode::kUnsupported);
  const std::string loop = inner() + "/loop.so";
  ASSERT_EQ(symlink("loop.so", loop.c_str()), 0);
  EXPECT_EQ(trusted_code_file(loop, "").status().code(), StatusCode::kIo);
}

TEST_F(CodeFile, BesideOurLibrariesIsNoMoreOpenThanThey) {
  set_mode(outer(), 0775);
  set_mode(inner(), 0775);
  set_mode(file(), 0775);
  expect_refused(file(), outer());
  EXPECT_TRUE(trusted_code_file(file(), outer()).ok());
  set_mode(inner(), 0777);
  expect_refused(file(), inner(), outer());
  set_mode(outer(), 0755);
  set_mode(inner(), 0755);
  expect_refused(file(), file(), outer());
}

TEST(FolderOfCode, IsThatOfTheProgram) {
  static const int here = 0;
  const auto program = std::filesystem::canonical("/proc/self/exe");
  EXPECT_EQ(std::filesystem::canonical(folder_of_code(&here)), program.parent_path());
}

}  // namespace
}  // namespace tensortap
