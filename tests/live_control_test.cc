// Finds a running session and changes its capture: the files that the session leaves, and the end of its control file. B9

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tensortap/capture.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "forked_child.h"
#include "toy_engine.h"

namespace toy {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class LiveControl : public testing::Test {
 protected:
  LiveControl() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~LiveControl() override {
    if (session_ != nullptr) close();
    unsetenv("XDG_RUNTIME_DIR");
  }

  void open(const json& config) {
    const Opened opened = open_session(config, dump_);
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    session_ = opened.session;
    for (const char* name : {"a", "b"}) ops_.push_back(add_op(session_, name));
  }
  void close() {
    tensortap_session_close(session_);
    session_ = nullptr;
  }
  void step() {
    tensortap_step_begin(session_, next_, 0);
    for (const tensortap_op_id op : ops_) run_op(session_, op, next_, {1, 2});
    tensortap_step_end(session_, next_, 0);
    ++next_;
  }

  // As `tensortap set` writes it.
  void ask(json request) {
    request["seq"] = ++asked_;
    write(request.dump());
  }
  void write(const std::string& text) {
    std::ofstream(control_ + "/next") << text;
    std::filesystem::rename(control_ + "/next", control_ + "/control.json");
  }
  static std::optional<json> read_json(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {}), nullptr, false);
  }
  // Runs steps until the reply is another one.
  json answer() {
    const auto former = reply_;
    for (int i = 0; i < 200; ++i) {
      step();
      reply_ = read_json(control_ + "/control_reply.json");
      if (reply_.has_value() && reply_ != former) return *reply_;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  std::string refusal(const json& request) {
    ask(request);
    const json reply = answer();
    EXPECT_EQ(reply["accepted"], false);
    EXPECT_EQ(reply["seq"], asked_);
    return reply["accepted"] == false ? reply["reason"].get<std::string>() : "";
  }
  [[nodiscard]] std::vector<std::string> links() const {
    std::vector<std::string> found;
    const std::string folder = folder_ / "tensortap";
    if (!std::filesystem::exists(folder)) return found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path().string());
    return found;
  }
  [[nodiscard]] std::set<int64_t> steps_of(const std::string& op) const {
    std::set<int64_t> steps;
    const auto dump = read_dump(dump_);
    for (const auto& row : dump->rows()) {
      if (dump->ops()[row.op].name == op) steps.insert(row.step);
    }
    return steps;
  }

  TempFolder folder_;
  std::string dump_ = folder_ / "dump";
  std::string control_ = dump_;
  tensortap_session* session_ = nullptr;
  std::vector<tensortap_op_id> ops_;
  int64_t next_ = 0;
  uint64_t asked_ = 0;
  std::optional<json> reply_;
};

TEST_F(LiveControl, ASessionCanBeFoundWhileItRuns) {
  open({});
  ASSERT_EQ(links().size(), 1U);
  EXPECT_EQ(std::filesystem::read_symlink(links()[0]), dump_ + "/session.json");
  const auto told = read_json(dump_ + "/session.json");
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ((*told)["pid"], getpid());
  EXPECT_EQ((*told)["program"], "toy");
  EXPECT_EQ((*told)["source"], "toy 1.0");
  EXPECT_EQ((*told)["dump"], dump_);
  EXPECT_EQ((*told)["on"], true);
  close();
  EXPECT_TRUE(links().empty());
  for (const char* name : {"session.json", "control.json", "control_reply.json"}) EXPECT_FALSE(std::filesystem::exists(dump_ + "/" + name));
}

TEST_F(LiveControl, CountsAreToldOnceASecond) {
  open({});
  for (int i = 0; i < 8; ++i) {
    step();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const auto told = read_json(dump_ + "/session.json");
  EXPECT_GT((*told)["steps"]["seen"], 2);
  EXPECT_GT((*told)["records"], 4);
}

TEST_F(LiveControl, TwoSessionsOfAProcessAndADiscardedOneHaveTheirOwnFiles) {
  open({});
  const Opened other = open_session({}, folder_ / "other");
  EXPECT_EQ(links().size(), 2U);
  tensortap_session_discard(other.session);
  EXPECT_EQ(links().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
}

TEST_F(LiveControl, WithoutAFolderForLinksASessionRunsAndSaysSo) {
  std::ofstream(folder_ / "tensortap") << "in the way";
  std::ofstream(folder_ / "no folder") << "";
  setenv("TMPDIR", (folder_ / "no folder").c_str(), 1);
  open({});
  unsetenv("TMPDIR");
  step();
  EXPECT_THAT(report_of(session_)["notes"].dump(), HasSubstr("tensortap ps` does not show this capture"));
  ask({{"on", false}});
  EXPECT_EQ(answer()["accepted"], true) << "the dump's folder is enough to talk";
}

TEST_F(LiveControl, AChangeTakesEffectAtAStepAndStandsInTheReport) {
  open({{"include", {"a"}}});
  step();
  ask({{"config", {{"include", {"b"}}}}, {"steps", "now..+1"}});
  const json reply = answer();
  ASSERT_EQ(reply["accepted"], true) << reply;
  const int64_t from = reply["from_step"];
  for (int i = 0; i < 4; ++i) step();
  const json report = report_of(session_);
  close();
  EXPECT_EQ(steps_of("b"), (std::set<int64_t>{from, from + 1}));
  std::set<int64_t> before;
  for (int64_t number = 0; number < from; ++number) before.insert(number);
  EXPECT_EQ(steps_of("a"), before);
  ASSERT_EQ(report["changes"].size(), 1U);
  EXPECT_EQ(report["changes"][0]["step"], from);
  EXPECT_EQ(report["changes"][0]["by"], "tensortap set");
  EXPECT_EQ(report["changes"][0]["asked"]["steps"], "now..+1");
}

TEST_F(LiveControl, AnIdleSessionCapturesNothingUntilItIsAskedTo) {
  open({{"idle", true}});
  EXPECT_EQ(tensortap_skips_steps(session_), 1);
  EXPECT_EQ(tensortap_wants_op(session_, ops_[0]), 1) << "the session may want the op later";
  EXPECT_EQ(tensortap_step_begin(session_, next_, 0), 0);
  tensortap_step_end(session_, next_++, 0);
  step();
  EXPECT_EQ((*read_json(dump_ + "/session.json"))["on"], false);
  ask({{"config", {{"include", {"b"}}}}});
  const int64_t from = answer()["from_step"];
  step();
  ask({{"on", false}});
  const int64_t until = answer()["from_step"];
  step();
  ask({{"on", true}});
  const int64_t again = answer()["from_step"];
  close();
  std::set<int64_t> expected;
  for (int64_t number = from; number < next_; ++number) {
    if (number < until || number >= again) expected.insert(number);
  }
  EXPECT_EQ(steps_of("b"), expected);
  EXPECT_TRUE(steps_of("a").empty());
}

TEST_F(LiveControl, OneThatEndsIdleSaysWhy) {
  open({{"idle", true}});
  step();
  EXPECT_THAT(report_of(session_)["notes"].dump(), HasSubstr("the capture was off when it ended"));
}

TEST_F(LiveControl, WhatBelongsToTheSessionIsRefusedByName) {
  open({});
  const std::vector<std::pair<std::string, json>> fixed = {{"layout", "ge"},       {"out", "/elsewhere"},     {"dialect", "acl"},
                                                           {"levels", {"kernel"}}, {"trigger", "on-request"}, {"mode", "shared"}};
  for (const auto& [key, value] : fixed) EXPECT_THAT(refusal({{"config", {{key, value}}}}), HasSubstr(key + ": cannot change")) << key;
  EXPECT_THAT(refusal({{"config", {{"limits", {{"max_records", 1}}}}}}), HasSubstr("limits: cannot change"));
  EXPECT_THAT(refusal({{"config", {{"budget", "3%"}}}}), HasSubstr("budget: this session was opened without one"));
  EXPECT_THAT(refusal({{"config", {{"include", {{{"regex", "("}}}}}}}), HasSubstr("("));
  EXPECT_THAT(refusal({{"snapshot", true}}), HasSubstr("keeps no last ops"));
  const json report = report_of(session_);
  EXPECT_TRUE(report["changes"].empty());
  EXPECT_TRUE(report["problems"].empty());
}

TEST_F(LiveControl, ABudgetAndWhatIsKeptUnderItCanChange) {
  open({{"budget", "10%"}});
  step();
  ask({{"config", {{"budget", "5%"}, {"payload", "full"}}}});
  ASSERT_EQ(answer()["accepted"], true);
  EXPECT_EQ(report_of(session_)["governor"]["budget"], 0.05);
  EXPECT_THAT(refusal({{"config", {{"budget", 0}}}}), HasSubstr("cannot be taken away"));
}

TEST_F(LiveControl, HostileFilesAreRefusedOnceAndTheNextGoodOneIsTaken) {
  open({});
  step();
  write(R"({"seq": 1, "on": fal)");
  EXPECT_THAT(answer()["reason"].get<std::string>(), HasSubstr("control.json:1:"));
  write(std::string(2 << 20, ' '));
  EXPECT_THAT(answer()["reason"].get<std::string>(), HasSubstr("more than 1048576 bytes"));
  std::ofstream(folder_ / "elsewhere") << R"({"on": false})";
  std::filesystem::create_symlink(folder_ / "elsewhere", dump_ + "/next");
  std::filesystem::rename(dump_ + "/next", dump_ + "/control.json");
  EXPECT_THAT(answer()["reason"].get<std::string>(), HasSubstr("symbolic link"));
  if (geteuid() == 0) {
    std::ofstream(dump_ + "/next") << R"({"on": false})";
    ASSERT_EQ(chown((dump_ + "/next").c_str(), 4321, 4321), 0);
    std::filesystem::rename(dump_ + "/next", dump_ + "/control.json");
    EXPECT_THAT(answer()["reason"].get<std::string>(), HasSubstr("belongs to user 4321"));
  }
  std::filesystem::remove(dump_ + "/control.json");
  std::filesystem::create_directory(dump_ + "/control.json");
  EXPECT_EQ(answer()["accepted"], false);
  std::filesystem::remove(dump_ + "/control.json");
  const json report = report_of(session_);
  EXPECT_TRUE(report["changes"].empty());
  EXPECT_EQ(report["steps"]["seen"], report["steps"]["captured"]) << "nothing was switched off";
  ask({{"on", false}});
  EXPECT_EQ(answer()["accepted"], true);
}

TEST_F(LiveControl, LastOpsAreWrittenWhenSomebodyAsks) {
  open({{"trigger", "on-request"}, {"limits", {{"ring_ops", 2}, {"keep_free", 0}}}});
  step();
  EXPECT_EQ(report_of(session_)["records"], 0);
  ask({{"snapshot", true}});
  ASSERT_EQ(answer()["accepted"], true);
  EXPECT_GE(report_of(session_)["records"], 1);
}

TEST_F(LiveControl, AFlushNeedsNoStep) {
  open({});
  tensortap_step_begin(session_, 0, 0);
  ask({{"flush", true}});
  std::optional<json> reply;
  for (int i = 0; i < 100 && !reply; ++i) {
    run_op(session_, ops_[0], 0, {1});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    reply = read_json(dump_ + "/control_reply.json");
  }
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ((*reply)["accepted"], true);
  EXPECT_TRUE((*reply)["from_step"].is_null());
}

TEST_F(LiveControl, AForkedChildDoesNotAnswerForItsParent) {
  open({});
  ask({{"on", false}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const int status = forked::end_of([this] {
    for (int i = 0; i < 3; ++i) step();
    tensortap_session_close(session_);
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(dump_ + "/control_reply.json"));
  EXPECT_TRUE(std::filesystem::exists(dump_ + "/session.json"));
  EXPECT_EQ(links().size(), 1U);
  EXPECT_EQ(answer()["accepted"], true);
}

TEST_F(LiveControl, ATreeThatSeveralShareHasAFolderForEachSession) {
  open({{"layout", "mindspore"}, {"profile", "mindspore-2.7.0/cpu"}});
  ASSERT_EQ(links().size(), 1U);
  control_ = std::filesystem::path(std::filesystem::read_symlink(links()[0])).parent_path().string();
  EXPECT_THAT(control_, HasSubstr(dump_ + "/.tensortap/session_"));
  EXPECT_THAT(refusal({{"on", false}}), HasSubstr("the layout \"mindspore\" takes no other plan while it is written"));
  ask({{"flush", true}});
  EXPECT_EQ(answer()["accepted"], true);
  close();
  EXPECT_FALSE(std::filesystem::exists(dump_ + "/.tensortap"));
}

TEST_F(LiveControl, AnIdleSessionNeedsALayoutThatTakesChanges) {
  const Opened opened = open_session({{"idle", true}, {"layout", "mindspore"}, {"profile", "mindspore-2.7.0/cpu"}}, dump_);
  EXPECT_EQ(opened.status, TENSORTAP_UNSUPPORTED);
  EXPECT_THAT(opened.message, HasSubstr("idle: the layout \"mindspore\" takes no other plan"));
  EXPECT_FALSE(std::filesystem::exists(dump_));
}

}  // namespace
}  // namespace toy
