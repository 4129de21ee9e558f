#include "base/process_role.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/json.h"
#include "base/process.h"

namespace tensortap {
namespace {

TEST(ProcessRoles, AreWhatTheProcessSaysOfItself) {
  const std::string command = command_line_of(0);
  EXPECT_NE(command.find("base_test"), std::string::npos) << command;
  const Json plain = process_json("", command);
  EXPECT_EQ(plain.at("pid"), getpid());
  EXPECT_EQ(plain.at("parent"), getppid());
  EXPECT_TRUE(plain.at("name").is_null());
  EXPECT_TRUE(plain.at("title").is_null());
  EXPECT_EQ(process_role(Json{{"command", "/usr/bin/python3 /srv/x.py"}}), "python3 x.py");
  EXPECT_EQ(process_role(Json{{"command", "python " + std::string(100, 'x')}}), "python " + std::string(53, 'x') + "...");
  // The command that started the process differs from its present title.
  const Json titled = process_json("SpawnProcess-1", "python -c spawn_main");
  EXPECT_EQ(titled.at("title"), command);
  EXPECT_EQ(process_role(titled), "SpawnProcess-1, " + command);
}

TEST(ProcessRoles, OfDamagedFilesAreNone) {
  EXPECT_EQ(process_role(Json()), "");
  EXPECT_TRUE(process_of_session("{\"process\": ").is_null());
  EXPECT_TRUE(process_of_session("[3]").is_null());
  EXPECT_EQ(process_of_session(R"({"pid": 3, "process": {"name": "a"}})"), Json({{"name", "a"}}));
  EXPECT_EQ(process_role(Json{{"name", 3}, {"command", Json::array()}}), "");
  EXPECT_EQ(process_role(Json{{"name", "worker"}, {"command", "python x.py"}}), "worker");
  EXPECT_EQ(process_role(Json{{"title", "VLLM::EngineCore"}, {"command", "python x.py"}}), "VLLM::EngineCore");
}

}  // namespace
}  // namespace tensortap
