// Wrong input: one clear error, exit code 2 or 3, nothing half written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A folder of good and bad files.
void fill(const std::string& folder) {
  const auto put = [&](const std::string& name, std::string_view content) { write(folder + "/" + name, content); };
  const std::string whole = small_model();
  put("good.onnx", whole);
  std::string text;
  for (int i = 0; i < 50; ++i) text += "this is no model\n";
  put("text.onnx", text);
  put("empty.onnx", "");
  put("cut.onnx", whole.substr(0, whole.size() / 2));
  put("operator.onnx", model({{"NoSuchOperator", "odd_1", {"x"}, {"y"}}}));
  put("external.onnx", model({{"MatMul", "m", {"x", "w"}, {"y"}}}, {2, 3}, {{"w", {3, 4}, {}, "external.data"}}));
  put("x.npy", npy({2, 3}, std::vector<float>(6, 1)));
  put("shape.npy", npy({2, 5}, std::vector<float>(10, 1)));
  put("rank.npy", npy({6}, std::vector<float>(6, 1)));
  put("dtype.npy", npy("<i8", {2, 3}, std::string(48, '\1')));
  put("text.npy", "no array");
  put("cut.npy", read(folder + "/x.npy").substr(0, read(folder + "/x.npy").size() - 4));
  fs::create_directory(folder + "/full");
  put("full/mine.txt", "mine");
  fs::create_directory(folder + "/empty_set");
  put("config.json", "{\"steps\": \"0\",\n \"stepz\": 1}");
  put("broken.json", "{\"steps\": \n");
  put("library.so", "no library");
}

// One error line, and all that it must say.
void expect_error(const Done& done, const std::vector<std::string>& says, bool usage) {
  EXPECT_TRUE(done.code == 2 || (!usage && done.code == 3)) << done.code;
  size_t errors = 0;
  for (const std::string& line : lines_of(done.err)) errors += line.starts_with("error:") ? 1 : 0;
  EXPECT_EQ(errors, 1U) << done.err;
  for (const std::string& pattern : says) EXPECT_TRUE(matches(done.err, pattern)) << pattern << "\n" << done.err;
}

struct Case {
  const char* words;
  std::vector<std::string> says;  // regular expressions, all of which the error must match
  bool usage = true;              // wrong usage alone, 2; else 3 is as good
};

const std::string kRun = "run good.onnx --input x=x.npy --out new ";

class Errors : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
    fill(folder_.path());
  }
  void expect_errors(const std::vector<Case>& cases, const std::string& begin = "") {
    for (const Case& one : cases) {
      SCOPED_TRACE(begin + one.words);
      const auto before = contents(folder_.path());
      const Done done = tensortap(begin + one.words, {folder_.path()});
      expect_error(done, one.says, one.usage);
      EXPECT_EQ(done.out, "");
      EXPECT_EQ(contents(folder_.path()), before);
    }
  }
  toy::TempFolder folder_;
};

TEST_F(Errors, OfModels) {
  expect_errors({
      {"run nothing.onnx --out new", {"nothing\\.onnx"}, false},
      {"run full --out new", {"full"}, false},
      {"run text.onnx --out new", {"text\\.onnx", "ONNX|onnx model"}, false},
      {"run empty.onnx --out new", {"empty\\.onnx"}, false},
      {"run cut.onnx --out new", {"cut\\.onnx"}, false},
      {"run operator.onnx --out new", {"NoSuchOperator"}, false},
      {"run external.onnx --out new", {"external\\.data"}, false},
      {"explain --model nothing.onnx", {"nothing\\.onnx"}, false},
  });
}

TEST_F(Errors, OfInputs) {
  expect_errors({
      {"run good.onnx --input z=x.npy --out new", {"\\bz\\b", "\\bx\\b"}},
      {"run good.onnx --input x=shape.npy --out new", {"\\bx\\b", "2, ?5", "2, ?3"}},
      {"run good.onnx --input x=rank.npy --out new", {"\\bx\\b", "\\[6\\]", "2, ?3"}},
      {"run good.onnx --input x=dtype.npy --out new", {"\\bx\\b", "int64", "float"}},
      {"run good.onnx --input x=no.npy --out new", {"no\\.npy"}},
      {"run good.onnx --input x=text.npy --out new", {"text\\.npy"}},
      {"run good.onnx --input x=cut.npy --out new", {"cut\\.npy"}},
      {"run good.onnx --input x.npy --out new", {"NAME=x"}},
      {"run good.onnx --input x=x.npy --input x=shape.npy --out new", {"--input x=shape\\.npy", "given twice", "x\\.npy"}},
      {"run good.onnx --inputs nowhere --out new", {"nowhere"}},
      {"run good.onnx --inputs empty_set --out new", {"input_0"}},
      {"run good.onnx --dim N=x --out new", {"--dim N=x"}},
  });
}

TEST_F(Errors, OfSelections) {
  expect_errors(
      {
          {"--carry nope=x", {"nope"}},
          {"--types Matmul", {"Matmul", "MatMul"}},
          {"--ops no_such_op", {"no_such_op"}},
          {"--ops a(b", {"--ops", "\\("}},
          {"--steps 5-3", {"5-3"}},
          {"--slots outs", {"outs"}},
          {"--where nann>0", {"nann", "\\bnan\\b"}},
          {"--where nan>", {"--where|column|\\^"}},
          {"--stats --tensors", {"--stats", "--tensors"}},
          {"--budget much", {"much"}},
          {"--max-bytes lots", {"lots"}},
          {"--config no.json", {"no\\.json"}},
          {"--config config.json", {"config\\.json:2: ?\\d+", "stepz", "steps"}},
          {"--config broken.json", {"broken\\.json:\\d+:\\d+"}},
          {"--layout tapp", {"tapp", "\\btap\\b"}},
      },
      kRun);
}

TEST_F(Errors, OfOptionsThatAreGivenTwice) {
  expect_errors({
      {"run good.onnx --threads 1 --threads 2 --out new", {"--threads is given 2 times"}},
      {"run good.onnx --out new --out old", {"--out is given 2 times"}},
      {"run good.onnx --seed 1 --seed=1 --seed 2 --out new", {"--seed is given 3 times"}},
      {"run good.onnx --dim N=1 --dim N=2 --out new", {"--dim N=2: \"N\" is given twice"}},
      {"run good.onnx --range 0:1 --range 0:2 --out new", {"--range 0:2: .*twice"}},
      {"run good.onnx --range x=0:1 --range x=0:2 --out new", {"--range x=0:2: .*twice"}},
      {"find full --limit 1 --limit 2", {"--limit is given 2 times"}},
      {"convert full new --threads 1 --threads 2", {"--threads is given 2 times"}},
      {"compare full full --sort own --sort error", {"--sort is given 2 times"}},
      {"serve full --port 1 --port 2", {"--port is given 2 times"}},
  });
}

TEST_F(Errors, OfNumbers) {
  expect_errors({
      {"run good.onnx --seed many --out new", {"--seed", "\"many\" is no whole number from 0 to 9223372036854775807"}},
      {"run good.onnx --seed -1 --out new", {"--seed", "\"-1\" is no whole number"}},
      {"run good.onnx --seed 99999999999999999999 --out new", {"--seed", "is no whole number"}},
  });
}

TEST_F(Errors, OfOutputsAndRuntimes) {
  // Before the model is looked at.
  const std::string long_name = "run text.onnx --out " + std::string(300, 'a');
  std::string long_path = "run text.onnx --out ";
  for (int i = 0; i < 1000; ++i) long_path += "five/";
  expect_errors({
      {"run good.onnx --out full", {"full", "empty"}, false},
      {long_name.c_str(), {"out: a name of 300 bytes, and a name has at most 255"}},
      {long_path.c_str(), {"out: a path of 5000 bytes, and a path has at most "}},
      {"run good.onnx --out text.onnx/dump", {"text\\.onnx"}, false},
      {"run good.onnx --out /proc/nope/dump", {"/proc/nope"}, false},
      {"run good.onnx --input x=x.npy --out new --save-outputs text.onnx/o", {"text\\.onnx"}, false},
      {"run good.onnx --input x=x.npy --out new --runtime nowhere/libonnxruntime.so", {"nowhere"}, false},
      {"run good.onnx --input x=x.npy --out new --runtime library.so", {"library\\.so"}, false},
  });
}

TEST_F(Errors, OfUsage) {
  expect_errors({
      {"", {"command"}},
      {"rnu", {"rnu", "run"}},
      {"run good.onnx --verfy", {"--verfy", "--verify"}},
      {"run good.onnx --out", {"--out"}},
      {"run good.onnx --runs many", {"--runs"}},
      {"run good.onnx --runs 0", {"--runs"}},
      {"run good.onnx --optimize best", {"best", "basic"}},
      {"run", {"MODEL"}},
      {"run good.onnx another.onnx", {"another\\.onnx"}},
      {"completion tcsh", {"tcsh", "bash"}},
      {"explain --where nan>", {"--where|column|\\^"}},
  });
}

TEST_F(Errors, OfDumps) {
  expect_errors({
      {"ls nothing", {"nothing"}},
      {"ls full", {"full"}, false},
      {"show nothing a:out0", {"nothing"}},
      {"find nothing", {"nothing"}},
      {"repair nothing", {"nothing"}},
  });
}

TEST_F(Errors, AreAnObjectInJson) {
  for (const char* words : {"run nothing.onnx", "run good.onnx --runs x", "show nothing a", "find nothing", "explain --where nan>"}) {
    SCOPED_TRACE(words);
    const Done done = tensortap(std::string(words) + " --json", {folder_.path()});
    EXPECT_TRUE(done.code == 2 || done.code == 3) << done.code;
    ASSERT_TRUE(done.object().contains("error"));
    EXPECT_THAT(done.err, HasSubstr("error: " + done.object()["error"].get<std::string>()));
  }
}

// --- dumps with damage ----------------------------------------------------------------------------------------------------------------

std::string flipped(std::string content) {
  uint64_t state = 3;
  for (int i = 0; i < 64 && !content.empty(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    content[(state >> 33) % content.size()] ^= static_cast<char>(1U << ((state >> 20) % 8));
  }
  return content;
}

class DamagedDump : public Errors {
 protected:
  void SetUp() override {
    Errors::SetUp();
    if (IsSkipped()) return;
    const Done done = tensortap("run good.onnx --input x=x.npy --full --runs 3 --out dump", {folder_.path()});
    ASSERT_EQ(done.code, 0) << done.said();
  }
  // Records or one error; JSON where it begins as such.
  void expect_records_or_an_error(const std::string& words) {
    SCOPED_TRACE(words);
    const Done done = tensortap(words, {folder_.path()});
    EXPECT_TRUE(done.code >= 0 && done.code <= 3) << done.code;
    // An answer about an incomplete dump begins with what is missing, and clears nothing.
    const bool answers = done.code == 3 && (done.out.starts_with("incomplete dump") || done.out.starts_with("{"));
    if (done.code >= 2 && !answers) expect_error(done, {}, false);
    if (done.out.starts_with("{")) (void)done.objects();
  }
};

TEST_F(DamagedDump, GivesRecordsOrAnErrorAndStaysAsItIs) {
  for (const char* name : {"records.npy", "ops.jsonl", "tensors.npz", "run.json"}) {
    const std::string whole = read((folder_ / "dump/") + name);
    const std::vector<std::string> damages = {"", whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() * 99 / 100),
                                              flipped(whole)};
    for (size_t damage = 0; damage <= damages.size(); ++damage) {
      SCOPED_TRACE(std::string(name) + ", damage " + std::to_string(damage));
      fs::remove_all(folder_ / "copy");
      fs::copy(folder_ / "dump", folder_ / "copy", fs::copy_options::recursive);
      fs::remove((folder_ / "copy/") + name);
      if (damage < damages.size()) write((folder_ / "copy/") + name, damages[damage]);
      const auto before = contents(folder_ / "copy");
      for (const char* words : {"ls copy", "ls copy --json --type MatMul", "show copy softmax_1:out0", "find copy", "find copy --trends",
                                "find copy --watch recommended", "repair copy --dry-run"}) {
        expect_records_or_an_error(words);
      }
      const Done where = tensortap({"ls", "copy", "--json", "--where", "nan > 0 or absmax >= 0"}, {folder_.path()});
      EXPECT_TRUE(where.code >= 0 && where.code <= 3);
      EXPECT_EQ(contents(folder_ / "copy"), before);
    }
  }
}

TEST_F(DamagedDump, IsAskedForWhatItHasNot) {
  expect_errors({
      {"show dump softmax_2:out0", {"softmax_2", "softmax_1"}},
      {"show dump softmax_1:out0 --at 9,0", {"--at"}},
      {"show dump softmax_1:out0 --at 0,0,0", {"--at"}},
      {"show dump softmax_1:out0 --at a", {"--at"}},
      {"show dump softmax_1:out0 --at 0:2:0", {"--at"}},
      {"ls dump --sort -absmaxx", {"absmaxx", "absmax"}},
  });
}

}  // namespace
}  // namespace command
