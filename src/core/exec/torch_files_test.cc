#include "exec/torch_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace tensortap {
namespace {

TEST(TorchFiles, ReadsTheFirstTwoNumbersOfARelease) {
  const auto release = parse_torch_release("2.13.0+cpu\n");
  ASSERT_TRUE(release);
  EXPECT_EQ(release->major, 2);
  EXPECT_EQ(release->minor, 13);
  EXPECT_EQ(release->text, "2.13.0+cpu");
  EXPECT_TRUE(parse_torch_release("2.8.0a0+git1234"));
  for (const char* wrong : {"", "2", "2.", ".13", "two.three", "-2.3", "99999999999.1"}) EXPECT_FALSE(parse_torch_release(wrong)) << wrong;
}

TEST(TorchFiles, TellsReleasesFromBuildsOfOthers) {
  for (const char* text : {"2.13.0", "2.4.1+cpu", "2.8.0+cu128", "2.5.1+rocm6.2", "2.10.0+xpu"})
    EXPECT_TRUE(is_torch_release(text)) << text;
  for (const char* text : {"", "2.13", "2.8.0a0+git1234", "2.4.1.post100", "2.8.0a0", "2.9.0.dev20250901+cpu", "2.8.0+", "2.8.0+vendor",
                           "2.8.0+cpuvendor", "2.8.0a0+34c6371d24.nv25.8", "2.7.1rc2", "x.1.2"}) {
    EXPECT_FALSE(is_torch_release(text)) << text;
  }
}

class Installation : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directories(library_folder()).ok()); }
  [[nodiscard]] std::string library_folder() const { return folder_.path() + "/torch/lib"; }
  [[nodiscard]] std::string library() const { return library_folder() + "/libtorch_cpu.so"; }
  void write(const std::string& name, std::string_view text) const {
    ASSERT_TRUE(write_file_atomically(folder_.path() + "/torch/" + name, text).ok());
  }
  TemporaryFolder folder_;
};

TEST_F(Installation, OfAWheelIsToldByItsVersionModule) {
  write("version.py", "from typing import Optional\n__all__ = ['__version__']\n__version__ = '2.4.1+cu121'\ndebug = False\n");
  const auto release = torch_release_beside(library());
  ASSERT_TRUE(release.ok()) << release.status().message();
  EXPECT_EQ(release->minor, 4);
}

TEST_F(Installation, OfTheCppDistributionIsToldByBuildVersion) {
  write("build-version", "2.6.0+cpu\n");
  const auto release = torch_release_beside(library());
  ASSERT_TRUE(release.ok()) << release.status().message();
  EXPECT_EQ(release->minor, 6);
}

TEST_F(Installation, OfADistributionIsToldByTheLibrarysName) {
  const auto release = torch_release_beside(library() + ".2.6");
  ASSERT_TRUE(release.ok()) << release.status().message();
  EXPECT_EQ(release->minor, 6);
}

TEST_F(Installation, ThatTellsNothingIsNotFound) {
  write("version.py", "__version__ = None\n");
  const auto release = torch_release_beside(library());
  ASSERT_FALSE(release.ok());
  EXPECT_EQ(release.status().code(), StatusCode::kNotFound);
  EXPECT_NE(release.status().message().find(library()), std::string::npos);
}

TEST(TorchFiles, NamesTheAdapterByMinorReleaseAndStringAbi) { EXPECT_EQ(torch_adapter_file(2, 13, 1), "tensortap_torch_2.13_1.so"); }

}  // namespace
}  // namespace tensortap
