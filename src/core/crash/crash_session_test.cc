// Reads back a session's description of itself from a crash file, hostile ones included.

#include "crash/crash_session.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

DumpInfo some_info() {
  DumpInfo info;
  info.folder = "not/told";
  info.program = "a \"program\"\n";
  info.source = "toy 1.0";
  info.rank = 3;
  info.world_size = 8;
  info.model = "resnet50";
  info.model_id = 2;
  info.device = 5;
  info.timestamp = "20260102030405";
  return info;
}

TEST(CrashSession, ComesBack) {
  CaptureSpec spec;
  spec.layout = "ge";
  spec.trigger = Trigger::kException;
  spec.exception_detail = ExceptionDetail::kBrief;
  spec.dialect = "acl";
  spec.layout_options["scene"] = "exception";
  const std::string text = crash_session_text(some_info(), spec);
  EXPECT_EQ(crash_session_layout(text), "ge");
  const auto content = parse_crash_session(text);
  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_EQ(content->spec, spec);
  const DumpInfo& info = content->info;
  EXPECT_EQ(info.folder, "") << "the crash file may have moved";
  EXPECT_EQ(info.program + info.source + info.model + info.timestamp, "a \"program\"\ntoy 1.0resnet5020260102030405");
  EXPECT_EQ((std::vector<int64_t>{info.rank, info.world_size, info.model_id, info.device}), (std::vector<int64_t>{3, 8, 2, 5}));
}

TEST(CrashSession, OfAnOlderVersionIsNative) {
  EXPECT_EQ(crash_session_layout(""), "tap");
  EXPECT_FALSE(parse_crash_session("").ok());
}

TEST(CrashSession, WhatIsDamagedIsCorrupt) {
  const std::string whole = crash_session_text(some_info(), CaptureSpec());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(parse_crash_session(whole.substr(0, size)).status().code(), StatusCode::kCorrupt) << size;
    EXPECT_EQ(crash_session_layout(whole.substr(0, size)), "tap") << size;
  }
  for (const char* text :
       {"[]", "7", "{}", R"({"spec": 7})", R"({"spec": {"layout": 7}})", R"({"layout": ["ge"]})", "{\"spec\": \"\xff\"}"}) {
    EXPECT_EQ(parse_crash_session(text).status().code(), StatusCode::kCorrupt) << text;
  }
  const auto odd = parse_crash_session(R"({"rank": -1, "device": 1e300, "model_id": 99999999999, "model": 7, "spec": {}})");
  ASSERT_TRUE(odd.ok()) << odd.status().message();
  EXPECT_EQ(odd->info.rank + odd->info.device + static_cast<int>(odd->info.model_id), 0);
}

}  // namespace
}  // namespace tensortap
