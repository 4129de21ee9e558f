// Engines that ask a session which records it would keep, report the ids of their operations, and add files beside the tensors. L1

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tensortap/asking.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "toy_engine.h"

namespace toy {
namespace {

constexpr const char* kConfig =
    R"({"tensortap": 1, "layout": "msit", "layout_options": {"time": "20251120_200000"}, "include": [{"id": "3_1", "children": true}],
  "steps": "2-4", "devices": [1], "payload": "tensor", "levels": ["module"]})";

class Asking : public testing::Test {
 protected:
  void open(uint32_t flags) {
    nlohmann::json config = nlohmann::json::parse(kConfig);
    config["out"] = folder_ / "dumps";
    const std::string text = config.dump();
    tensortap_session_options options{};
    options.size = sizeof options;
    options.version = TENSORTAP_CAPTURE_VERSION;
    options.config = text.c_str();
    options.flags = flags | TENSORTAP_SESSION_MODULES | TENSORTAP_SESSION_KERNELS;
    options.device = 1;
    std::array<char, 1000> message{};
    ASSERT_EQ(tensortap_session_open(&options, &session_, message.data(), message.size()), TENSORTAP_OK) << message.data();
  }
  bool keeps(const char* id, int64_t step, int32_t device) {
    tensortap_question question{};
    question.size = sizeof question;
    question.flags = (id == nullptr ? 0U : TENSORTAP_QUESTION_OP) | (step < 0 ? 0U : TENSORTAP_QUESTION_STEP) |
                     (device < 0 ? 0U : TENSORTAP_QUESTION_DEVICE);
    question.id = id;
    question.type = "Linear";
    question.step = step;
    question.device = device;
    return tensortap_would_keep(session_, &question) != 0;
  }
  int write(const char* path, const std::string& content, uint32_t flags = 0) {
    tensortap_document document{};
    document.size = sizeof document;
    document.flags = flags;
    document.path = path;
    document.data = content.data();
    document.bytes = content.size();
    return tensortap_add_document(session_, &document);
  }
  std::string read(const char* path) {
    std::ifstream file(std::filesystem::path(folder_ / "dumps/msit_dump_20251120_200000") / path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void TearDown() override { tensortap_session_close(session_); }

  TempFolder folder_;
  tensortap_session* session_ = nullptr;
};

TEST_F(Asking, TheConfigAnswersForOperationsStepsAndDevices) {
  open(TENSORTAP_SESSION_ASKS);
  EXPECT_TRUE(keeps("3_1", -1, -1));
  EXPECT_TRUE(keeps("3_1_0", -1, -1)) << "what is inside";
  EXPECT_FALSE(keeps("3", -1, -1));
  EXPECT_FALSE(keeps("3_10", -1, -1));
  EXPECT_TRUE(keeps(nullptr, 2, -1));
  EXPECT_FALSE(keeps(nullptr, 5, -1));
  EXPECT_TRUE(keeps(nullptr, -1, 1));
  EXPECT_FALSE(keeps(nullptr, -1, 0));
  EXPECT_FALSE(keeps("3_1", 5, 1)) << "all that is asked counts";
  EXPECT_EQ(tensortap_would_keep(session_, nullptr), 0);
}

TEST_F(Asking, ASessionThatWasNotOpenedForItKeepsNothingByQuestion) {
  open(0);
  EXPECT_FALSE(keeps("3_1", 2, 1));
}

TEST_F(Asking, WhatIsReportedIsKeptUnderTheIdThatItHas) {
  open(TENSORTAP_SESSION_ASKS);
  tensortap_op op{};
  op.size = sizeof op;
  op.level = TENSORTAP_LEVEL_MODULE;
  op.name = "Linear_7";
  op.type = "Linear";
  op.parent = TENSORTAP_NO_OP;
  op.id = "7";
  const tensortap_op_id id = tensortap_register_op(session_, &op);
  run_op(session_, id, 9, {1, 2});
  op.name = "Linear_8";
  op.id = nullptr;
  run_op(session_, tensortap_register_op(session_, &op), 9, {1, 2});
  ASSERT_EQ(tensortap_session_flush(session_), TENSORTAP_OK);
  const std::string process = "tensors/1_" + std::to_string(getpid()) + "/9/";
  EXPECT_THAT(read((process + "7_Linear/after/outtensor0.bin").c_str()), testing::HasSubstr("dims=2"))
      << "step 9 and op 7 are not in the config";
  EXPECT_THAT(read((process + "8_Linear/after/outtensor0.bin").c_str()), testing::HasSubstr("dims=2")) << "numbered on behind it";
}

TEST_F(Asking, FilesBesideTheTensorsAreWrittenOnceOrGrow) {
  open(TENSORTAP_SESSION_ASKS);
  EXPECT_EQ(write("layer/1/A_0.json", "one"), TENSORTAP_OK);
  EXPECT_EQ(write("layer/1/A_0.json", "other"), TENSORTAP_OK);
  EXPECT_EQ(read("layer/1/A_0.json"), "one");
  EXPECT_EQ(write("table.csv", "a", TENSORTAP_DOCUMENT_APPEND), TENSORTAP_OK);
  EXPECT_EQ(write("table.csv", "b", TENSORTAP_DOCUMENT_APPEND), TENSORTAP_OK);
  EXPECT_EQ(read("table.csv"), "ab");
  for (const char* path : {"", "/x", "../x", "a/../x", "a//x", ".tensortap/1.json", "a b", "a/"}) {
    EXPECT_EQ(write(path, "x"), TENSORTAP_INVALID_ARGUMENT) << path;
  }
}

// A session of the native layout.
class AskingNative : public testing::Test {
 protected:
  void open(nlohmann::json config) {
    const Opened opened = open_session(std::move(config), folder_ / "dump");
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    session_ = opened.session;
  }
  int write(const char* path, const std::string& content, uint32_t flags = TENSORTAP_DOCUMENT_APPEND) {
    tensortap_document document{};
    document.size = sizeof document;
    document.flags = flags;
    document.path = path;
    document.data = content.data();
    document.bytes = content.size();
    return tensortap_add_document(session_, &document);
  }
  std::string read(const char* name) {
    std::ifstream file(std::filesystem::path(folder_ / "dump") / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  nlohmann::json close() {
    EXPECT_EQ(tensortap_session_close(session_), TENSORTAP_OK);
    return nlohmann::json::parse(read("run.json"));
  }

  TempFolder folder_;
  tensortap_session* session_ = nullptr;
};

TEST_F(AskingNative, FilesBesideTheTensorsLieInTheDumpsFolder) {
  open(nlohmann::json::object());
  EXPECT_EQ(write("table.csv", "a"), TENSORTAP_OK);
  EXPECT_EQ(write("table.csv", "b"), TENSORTAP_OK);
  EXPECT_EQ(write("table.csv", "c", 0), TENSORTAP_OK) << "it is there";
  EXPECT_EQ(read("table.csv"), "ab");
  for (const char* name : {"", "a/b", "../x", ".x", "records.npy", "ops.jsonl", "run.json", "tensors.npz"}) {
    EXPECT_EQ(write(name, "x"), TENSORTAP_INVALID_ARGUMENT) << name;
  }
  tensortap_session_close(session_);
}

TEST_F(AskingNative, TheyCountAmongTheBytesThatADumpMayHave) {
  open({{"limits", {{"max_bytes", 65536}}}});
  EXPECT_EQ(write("a", std::string(16384, 'x')), TENSORTAP_OK);
  EXPECT_EQ(write("a", std::string(65536, 'x')), TENSORTAP_EXHAUSTED);
  EXPECT_EQ(read("a").size(), 16384U);
  EXPECT_THAT(close()["problems"].dump(), testing::HasSubstr("max_bytes"));
}

TEST_F(AskingNative, ArgumentsOfCallsAreWantedWhereTensorsAreKept) {
  open({{"payload", "statistics"}});
  EXPECT_EQ(tensortap_wants_arguments(session_), 0);
  EXPECT_EQ(tensortap_wants_arguments(nullptr), 0);
  EXPECT_EQ(tensortap_add_arguments(session_, 0, 0, 1, "{}"), TENSORTAP_OK);
  close();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "dump/calls.jsonl"));
}

TEST_F(AskingNative, ArgumentsOfACallAreALine) {
  open({{"payload", "full"}});
  EXPECT_EQ(tensortap_wants_arguments(session_), 1);
  EXPECT_EQ(tensortap_add_arguments(session_, 3, 7, 2, R"({"value": -0.1, "dims": [1, 2]})"), TENSORTAP_OK);
  EXPECT_EQ(tensortap_add_arguments(session_, 3, 7, 0, "{}"), TENSORTAP_INVALID_ARGUMENT) << "calls count from 1";
  for (const char* text : {"", "{", "[1]", "1"}) EXPECT_EQ(tensortap_add_arguments(session_, 3, 7, 2, text), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(nlohmann::json::parse(read("calls.jsonl")),
            nlohmann::json::parse(R"({"op": 3, "step": 7, "call": 1, "arguments": {"value": -0.1, "dims": [1, 2]}})"));
  close();
}

TEST_F(AskingNative, ArgumentsThatHaveNoRoomAreSaidToBeMissing) {
  open({{"payload", "full"}, {"limits", {{"max_bytes", 65536}}}});
  const std::string large = R"({"value": ")" + std::string(65536, 'x') + R"("})";
  EXPECT_EQ(tensortap_add_arguments(session_, 0, 5, 1, large.c_str()), TENSORTAP_EXHAUSTED);
  EXPECT_EQ(tensortap_add_arguments(session_, 0, 6, 1, large.c_str()), TENSORTAP_EXHAUSTED);
  EXPECT_EQ(close()["runtime"]["arguments_missing_from_step"], 5);
}

TEST_F(AskingNative, RequestsOfAnEngineAreALineOfTheirStep) {
  open({{"payload", "statistics"}});
  const char* text = R"({"rows": 4, "requests": [{"id": "a", "first_row": 0, "rows": 3}]})";
  EXPECT_EQ(tensortap_add_requests(session_, 7, TENSORTAP_MODEL_PHASE_PREFILL, text), TENSORTAP_OK);
  EXPECT_EQ(
      nlohmann::json::parse(read("requests.jsonl")),
      nlohmann::json::parse(R"({"step": 7, "model_phase": "prefill", "rows": 4, "requests": [{"id": "a", "first_row": 0, "rows": 3}]})"));
  EXPECT_EQ(tensortap_add_requests(session_, 7, 99, text), TENSORTAP_INVALID_ARGUMENT);
  for (const char* wrong : {"", "{", "[1]"}) EXPECT_EQ(tensortap_add_requests(session_, 7, 0, wrong), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_add_requests(session_, 7, 0, nullptr), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_add_requests(nullptr, 7, 0, text), TENSORTAP_OK);
  EXPECT_FALSE(close()["runtime"].contains("requests_missing_from_step"));
}

TEST_F(AskingNative, RequestsThatHaveNoRoomAreSaidToBeMissing) {
  open({{"limits", {{"max_bytes", 65536}}}});
  const std::string large = R"({"requests": ")" + std::string(65536, 'x') + R"("})";
  EXPECT_EQ(tensortap_add_requests(session_, 5, 0, large.c_str()), TENSORTAP_EXHAUSTED);
  EXPECT_EQ(close()["runtime"]["requests_missing_from_step"], 5);
}

TEST_F(AskingNative, FactsOfTheRuntimeStandInRunJson) {
  open(nlohmann::json::object());
  EXPECT_EQ(tensortap_add_fact(session_, "cpu", "\"old\""), TENSORTAP_OK);
  EXPECT_EQ(tensortap_add_fact(session_, "cpu", "[1, 2]"), TENSORTAP_OK);
  EXPECT_EQ(tensortap_add_fact(session_, "cpu", "{"), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_add_fact(session_, "", "1"), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_add_fact(session_, "much", ("\"" + std::string(70000, 'x') + "\"").c_str()), TENSORTAP_INVALID_ARGUMENT);
  EXPECT_EQ(tensortap_add_fact(nullptr, "cpu", "1"), TENSORTAP_OK);
  EXPECT_EQ(close()["runtime"]["cpu"], nlohmann::json::parse("[1, 2]"));
}

TEST(AskingOther, ALayoutWithoutAPlaceForThemSaysSo) {
  const TempFolder folder;
  const Opened opened = open_session({{"layout", "mindspore"}}, folder / "dump");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  tensortap_document document{};
  document.size = sizeof document;
  document.path = "x";
  EXPECT_EQ(tensortap_add_document(opened.session, &document), TENSORTAP_UNSUPPORTED);
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
}

}  // namespace
}  // namespace toy
