#include "exec/exec_request.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"

namespace tensortap {
namespace {

// Sets variables for one test.
class Environment {
 public:
  ~Environment() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    names_.insert(name);
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::set<std::string> names_;
};

TEST(ExecRequest, IsReadWhole) {
  const auto request = parse_exec_request(R"({"config": "{}", "config_name": "c.json", "out": "/data/dump", "program": "python train.py",
    "adapters": ["/a", "/b"], "python_package": "/p", "compile": "eager", "workers": true, "shared_tree": true, "content_cache": false})",
                                          "request.json");
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->config, "{}");
  EXPECT_EQ(request->config_name, "c.json");
  EXPECT_EQ(request->out, "/data/dump");
  EXPECT_EQ(request->program, "python train.py");
  EXPECT_EQ(request->adapters, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(request->python_package, "/p");
  EXPECT_EQ(request->compile, "eager");
  EXPECT_TRUE(request->workers);
  EXPECT_TRUE(request->shared_tree);
  EXPECT_FALSE(request->content_cache);
}

TEST(ExecRequest, AProgramIsTheModelOfItsFile) {
  EXPECT_EQ(model_of_program("python -u code/train.v2.py --out a.py"), "train.v2");
  EXPECT_EQ(model_of_program("/usr/bin/infer --lr 0.1"), "infer");
  EXPECT_EQ(model_of_program(""), "");
}

TEST(ExecRequest, ThatIsWrongIsRefusedWithTheMemberAndTheFile) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "request.json"},
      {"[]", "not a JSON object"},
      {"{}", "\"out\""},
      {R"({"out": 3})", "\"out\""},
      {R"({"out": "relative"})", "\"out\""},
      {R"({"out": "/a\u0000b"})", "\"out\""},
      {R"({"out": "/a", "compile": "fast"})", "\"compile\""},
      {R"({"out": "/a", "adapters": "/b"})", "\"adapters\""},
      {R"({"out": "/a", "adapters": ["b"]})", "\"adapters\""},
      {R"({"out": "/a", "adapters": [{}]})", "\"adapters\""},
      {R"({"out": "/a", "workers": 1})", "\"workers\""},
      {R"({"out": "/a", "config": {}})", "\"config\""},
  };
  for (const auto& [text, part] : cases) {
    const auto request = parse_exec_request(text, "request.json");
    ASSERT_FALSE(request.ok()) << text;
    EXPECT_NE(request.status().message().find(part), std::string::npos) << request.status().message();
    EXPECT_NE(request.status().message().find("request.json"), std::string::npos) << request.status().message();
  }
}

TEST(ExecRequest, WithoutTheVariableThereIsNothingAndNothingIsSaid) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(read_exec_request());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ExecRequest, IsReadFromTheFileThatTheVariableNames) {
  const TemporaryFolder folder;
  Environment environment;
  environment.set("TENSORTAP_EXEC", folder.path() + "/request.json");
  ASSERT_TRUE(write_file_atomically(folder.path() + "/request.json", R"({"out": "/data/dump"})").ok());
  const auto request = read_exec_request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->out, "/data/dump");
  EXPECT_EQ(request->marks, folder.path());
}

TEST(ExecRequest, ThatCanNotBeReadIsSaidAndNothing) {
  const TemporaryFolder folder;
  Environment environment;
  environment.set("TENSORTAP_EXEC", folder.path() + "/request.json");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(read_exec_request());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has ended"), std::string::npos);
  ASSERT_TRUE(write_file_atomically(folder.path() + "/request.json", "{").ok());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(read_exec_request());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("nothing is captured in this process: "), std::string::npos);
}

class ProcessFolder : public testing::Test {
 protected:
  void SetUp() override {
    request_.out = "/data/dump";
    request_.marks = marks_.path();
  }
  // The folders that `count` processes get which ask at the same time.
  std::multiset<std::string> folders_of_processes(int count) {
    int gate[2];
    int answers[2];
    EXPECT_EQ(pipe(gate), 0);
    EXPECT_EQ(pipe(answers), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        close(gate[1]);
        char byte = 0;
        [[maybe_unused]] ssize_t done = read(gate[0], &byte, 1);  // the end of the pipe
        const std::string folder = process_folder(request_) + "\n";
        done = write(answers[1], folder.data(), folder.size());
        _exit(0);
      }
      children.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    close(answers[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(answers[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(size));
    close(answers[0]);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    std::multiset<std::string> folders;
    for (const std::string_view line : split(trim(text), '\n')) folders.emplace(line);
    return folders;
  }
  TemporaryFolder marks_;
  ExecRequest request_;
};

TEST_F(ProcessFolder, OfTheFirstProcessIsTheWholeDumpAndThatOfOthersHasTheirNumber) {
  EXPECT_EQ(process_folder(request_), "/data/dump");
  EXPECT_EQ(process_folder(request_), concat("/data/dump/process_", getpid()));
  // The same process after execve(), or another with the number of one that has ended.
  EXPECT_EQ(process_folder(request_), concat("/data/dump/process_", getpid(), "-2"));
}

TEST_F(ProcessFolder, OfARankIsTheWholeDumpOnceForEachRank) {
  Environment environment;
  environment.set("WORLD_SIZE", "2");
  for (const char* rank : {"0", "1"}) {
    environment.set("RANK", rank);
    EXPECT_EQ(process_folder(request_), "/data/dump") << rank;
  }
  EXPECT_EQ(process_folder(request_), concat("/data/dump/process_", getpid()));
}

TEST_F(ProcessFolder, GoesToExactlyOneOfManyProcessesThatAskAtTheSameTime) {
  constexpr int kProcesses = 40;
  const auto folders = folders_of_processes(kProcesses);
  EXPECT_EQ(folders.count("/data/dump"), 1U);
  EXPECT_EQ(folders.size(), size_t{kProcesses});
  EXPECT_EQ(std::set(folders.begin(), folders.end()).size(), size_t{kProcesses}) << "two processes got the same folder";
}

TEST_F(ProcessFolder, OfAModelIsInThatOfItsProcessAndSaysItsName) {
  EXPECT_EQ(model_folder(request_, "/data/dump", "det"), "/data/dump/model_det");
  EXPECT_EQ(model_folder(request_, "/data/dump", "det"), "/data/dump/model_det-2");
  EXPECT_EQ(model_folder(request_, "/data/dump", "det"), "/data/dump/model_det-3");
  EXPECT_EQ(model_folder(request_, "/data/dump", "a/b c\u00e9..x-1_"), "/data/dump/model_a_b_c__..x-1_");
  EXPECT_EQ(model_folder(request_, "/data/dump/process_7", "det"), "/data/dump/process_7/model_det") << "another process";
  Environment environment;
  environment.set("WORLD_SIZE", "2");
  environment.set("RANK", "1");
  EXPECT_EQ(model_folder(request_, "/data/dump", "det"), "/data/dump/model_det") << "another rank";
}

TEST(ExecRequest, GivesTheConfigWithAFolder) {
  ExecRequest request;
  request.config = R"({"tensortap": 1, "out": "/a", "layout": "tap"})";
  request.config_name = "c.json";
  const auto config = config_with_folder(request, "/b");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(*config, R"({"tensortap":1,"out":"/b","layout":"tap"})");
  request.config = "[]";
  EXPECT_NE(config_with_folder(request, "/b").status().message().find("c.json"), std::string::npos);
}

TEST_F(ProcessFolder, WithoutAPlaceForMarksIsAProcesssOwn) {
  request_.marks = marks_.path() + "/gone";
  EXPECT_EQ(process_folder(request_), concat("/data/dump/process_", getpid()));
}

}  // namespace
}  // namespace tensortap
