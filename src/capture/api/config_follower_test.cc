#include "api/config_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <tensortap/capture.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace tensortap {
namespace {

using testing::HasSubstr;

class Following : public testing::Test {
 protected:
  Following() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensortap-follow-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    opened_.dialect = "msit";
    opened_.layout_options["k"] = "kept";
    opened_.follow.path = folder_ + "/c.json";
  }
  ~Following() override { std::filesystem::remove_all(folder_); }

  // As editors and careful scripts do it: another file under the same name.
  void write(const std::string& text) {
    std::ofstream(folder_ + "/next") << text;
    std::filesystem::rename(folder_ + "/next", opened_.follow.path);
  }

  std::string folder_;
  CaptureSpec opened_;
};

// L12
TEST_F(Following, GivesWhatAChangedFileSaysAndNothingOtherwise) {
  write(R"({"dump_enable": "true", "ids": "2", "er": "1,2"})");
  ConfigFollower follower(opened_, 0, 0);
  auto next = follower.look();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->steps.to_text(), "1-2");
  ASSERT_EQ((*next)->include.size(), 1U);
  EXPECT_EQ((*next)->include[0].text, "2");
  EXPECT_EQ((*next)->layout_options.at("k"), "kept") << "settings other than ops and steps stay";
  next = follower.look();
  EXPECT_TRUE(next.ok() && !next->has_value()) << "the file is as it was";
  write(R"({"dump_enable": "false"})");
  next = follower.look();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_TRUE((*next)->steps.is_never());
}

TEST_F(Following, TellsABadFileOnceAndTakesTheNextGoodOne) {
  write(R"({"dump_enable": "true", "er": "all"})");
  ConfigFollower follower(opened_, 0, 0);
  ASSERT_TRUE(follower.look().ok());
  write(R"({"dump_enable": "tr)");
  EXPECT_THAT(follower.look().status().message(), HasSubstr("c.json:1:"));
  EXPECT_TRUE(follower.look().ok()) << "said once";
  write("{\"dump_enable\": \"true\",\n \"er\": \"x\"}");
  EXPECT_THAT(follower.look().status().message(), HasSubstr("c.json:2:2: er: \"x\" names no rounds"));
  std::filesystem::remove(opened_.follow.path);
  EXPECT_FALSE(follower.look().ok());
  EXPECT_TRUE(follower.look().ok());
  write(R"({"dump_enable": "true", "er": "all"})");
  const auto next = follower.look();
  EXPECT_TRUE(next.ok() && next->has_value() && (*next)->steps.is_all());
}

TEST_F(Following, LaysMembersOverTheFile) {
  opened_.follow.over = R"({"opname": "Linear"})";
  write(R"({"dump_enable": "true", "ids": "2"})");
  ConfigFollower follower(opened_, 0, 0);
  const auto next = follower.look();
  ASSERT_TRUE(next.ok() && next->has_value());
  ASSERT_EQ((*next)->include.size(), 2U);
  EXPECT_EQ((*next)->include[1].text, "linear");
}

TEST_F(Following, CapturesNothingOnOtherDevices) {
  write(R"({"dump_enable": "true", "er": "all", "device": "1"})");
  EXPECT_TRUE((*ConfigFollower(opened_, 0, 0).look())->steps.is_never());
  EXPECT_TRUE((*ConfigFollower(opened_, 1, 0).look())->steps.is_all());
}

TEST_F(Following, LooksOnceInEachIntervalOnly) {
  write(R"({"dump_enable": "true", "er": "all"})");
  ConfigFollower follower(opened_, 0, int64_t{3600} * 1'000'000'000);
  EXPECT_TRUE(follower.look()->has_value());
  write(R"({"dump_enable": "true", "er": "none"})");
  EXPECT_FALSE(follower.look()->has_value());
}

}  // namespace
}  // namespace tensortap
