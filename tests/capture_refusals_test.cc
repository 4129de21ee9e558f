// Configs that a session rejects when it is opened, through the C interface: clear text, the right status, nothing left on the disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <array>
#include <filesystem>
#include <string>

namespace {

using ::testing::HasSubstr;

struct Opened {
  int status = TENSORTAP_OK;
  std::string message;
};

// Opens a session with `config` whose dump would go below the test's folder; closes it when it opened.
Opened open_with(const std::string& config, uint32_t flags = 0) {
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.config_name = "c.json";
  options.source = "test";
  options.flags = flags;
  std::array<char, 2000> message{};
  tensortap_session* session = nullptr;
  const int status = tensortap_session_open(&options, &session, message.data(), message.size());
  if (session != nullptr) tensortap_session_close(session);
  return {status, message.data()};
}

class CaptureRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // `rest` and where the dump goes.
  [[nodiscard]] std::string config(const std::string& rest) const { return R"({"out": ")" + folder_.string() + R"(", )" + rest + "}"; }
  std::filesystem::path folder_;
};

TEST_F(CaptureRefusals, ThePlanIsCheckedBeforeAnythingIsWritten) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("stepps": 1)", "stepps: unknown key. Did you mean \"steps\"?"},
      {R"("where": "nan >")", "where: column 6"},
      {R"("include": [{"regex": "a(b"}])", "is wrong at column 1: missing )"},
      {R"("watchers": ["a"])", "\"watchers\" contradicts"},
      {R"("levels": ["module"])", "the level \"module\" is not supported"},
      {R"("layout": "parquet")", "layout \"parquet\""},
      {R"("payload": "tensor", "stats": ["min"])", "contradicts"},
  };
  for (const auto& [rest, part] : cases) {
    const Opened opened = open_with(config(rest));
    EXPECT_EQ(opened.status, TENSORTAP_INVALID_ARGUMENT) << rest;
    EXPECT_THAT(opened.message, HasSubstr(part)) << rest;
    EXPECT_FALSE(std::filesystem::exists(folder_)) << rest;
  }
}

TEST_F(CaptureRefusals, ASourceWithoutABeforeSaysSo) {
  const Opened after_only = open_with(config(R"("moment": "before")"), TENSORTAP_SESSION_AFTER_ONLY);
  EXPECT_EQ(after_only.status, TENSORTAP_INVALID_ARGUMENT);
  EXPECT_THAT(after_only.message, HasSubstr("this source sees tensors only after an op has run"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  const Opened both = open_with(config(R"("moment": "before")"));
  EXPECT_EQ(both.status, TENSORTAP_OK) << both.message;
}

}  // namespace
