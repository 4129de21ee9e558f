// A config that a session follows while it runs. L12

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "toy_engine.h"

namespace toy {
namespace {

class Followed : public testing::Test {
 protected:
  void write(const std::string& text) {
    std::ofstream(folder_ / "next") << text;
    std::filesystem::rename(folder_ / "next", folder_ / "config");
  }
  void step(int64_t number) {
    tensortap_step_begin(session_, number, 0);
    for (const tensortap_op_id op : ops_) run_op(session_, op, number, {1, 2});
    tensortap_step_end(session_, number, 0);
  }
  void open(nlohmann::json config) {
    config["follow"] = {{"path", folder_ / "config"}};
    const Opened opened = open_session(config, folder_ / "dump");
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    session_ = opened.session;
    for (const char* name : {"a", "b"}) ops_.push_back(add_op(session_, name));
  }
  // Runs steps from `first` on until one has an op that the last config asks for, at most for a while.
  int64_t run_until(int64_t first, const std::string& op) {
    for (int64_t number = first; number < first + 200; ++number) {
      step(number);
      EXPECT_EQ(tensortap_session_flush(session_), TENSORTAP_OK);
      const auto dump = read_dump(folder_ / "dump");
      for (const auto& row : dump->rows()) {
        if (row.step == number && dump->ops()[row.op].name == op) return number;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return -1;
  }

  TempFolder folder_;
  tensortap_session* session_ = nullptr;
  std::vector<tensortap_op_id> ops_;
};

TEST_F(Followed, ChangesWhatIsCapturedFromAStepOn) {
  write(R"({"include": ["a"]})");
  open({{"include", {"b"}}});
  ASSERT_EQ(run_until(0, "a"), 0) << "the file counts from the first step on, whatever the session was opened with";
  write(R"({"include": ["b"]})");
  const int64_t changed = run_until(1, "b");
  ASSERT_GT(changed, 0);
  write("{");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  ASSERT_EQ(run_until(changed + 1, "b"), changed + 1) << "a bad file changes nothing";
  ASSERT_EQ(tensortap_session_close(session_), TENSORTAP_OK);
  const auto dump = read_dump(folder_ / "dump");
  for (const auto& row : dump->rows()) EXPECT_EQ(dump->ops()[row.op].name, row.step < changed ? "a" : "b") << row.step;
}

TEST_F(Followed, ASessionThatIsAskedForNothingWaitsForTheFile) {
  open({{"steps", "9223372036854775807"}});
  step(0);
  write(R"({"include": ["a"]})");
  EXPECT_GT(run_until(1, "a"), 0);
  EXPECT_EQ(tensortap_session_close(session_), TENSORTAP_OK);
}

}  // namespace
}  // namespace toy
