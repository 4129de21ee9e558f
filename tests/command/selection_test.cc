// The same selections in every command that takes them: docs/command_line.md, "Which records".  B22

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

class Selection : public SuiteFolder<Selection> {
 public:
  static void make() {
    write(*folder_ / "m.onnx", small_model());
    write(*folder_ / "x.npy", npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    write(*folder_ / "z.npy", npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, 3}));
    ASSERT_EQ(at("run m.onnx --input x=x.npy --full --runs 5 --optimize none --out dump").code, 0);
    ASSERT_EQ(at("run m.onnx --input x=z.npy --full --runs 5 --optimize none --out other").code, 0);
    fs::create_directories(path("job"));
    fs::copy(path("dump"), path("job/rank_0"), fs::copy_options::recursive);
    fs::copy(path("other"), path("job/rank_1"), fs::copy_options::recursive);
  }

 protected:
  // Name, slot, step, shape and statistics of the records that `ls` lists, without their numbers.
  static std::vector<Json> listed(const std::string& words) {
    std::vector<Json> rows = at("ls " + words + " --json").objects();
    std::erase_if(rows, [](const Json& row) { return !row.contains("op"); });
    for (Json& row : rows) {
      for (const char* own : {"row", "sequence", "time", "duration"}) row.erase(own);
    }
    return rows;
  }
  static bool exists(const std::string& name) { return fs::exists(path(name)); }
};

TEST_F(Selection, ConvertWritesTheChosenRecordsAndSaysThatOthersAreMissing) {
  const auto chosen = listed("dump --types Relu,Softmax --last 2");
  ASSERT_EQ(chosen.size(), 4U);
  const Done done = at("convert dump some --to tap --types Relu,Softmax --last 2");
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.err, HasSubstr("4 of "));
  EXPECT_EQ(listed("some"), chosen);
  const Done found = at("find some");
  EXPECT_EQ(found.code, 3) << found.said();
  EXPECT_THAT(found.out, testing::StartsWith("incomplete dump: 4"));
  ASSERT_EQ(at("convert dump arrays --to npy --ops softmax --steps 1,3").code, 0);
  EXPECT_EQ(files_like(path("arrays"), ".*\\.npy").size(), 2U);
  ASSERT_EQ(at("convert dump trace.pftrace --to perfetto --step 3").code, 0);
}

TEST_F(Selection, ConvertOfFilesTakesNone) {
  const Done done = at("convert x.npy made --to npz --ops softmax");
  EXPECT_EQ(done.code, 2) << done.said();
  EXPECT_THAT(done.err, HasSubstr("choose records of a dump"));
  EXPECT_FALSE(exists("made"));
}

TEST_F(Selection, ReplayRunsTheChosenExecutions) {
  const Done done = at("replay dump --types MatMul,Relu --steps 1-2 --json");
  ASSERT_EQ(done.code, 0) << done.said();
  const std::vector<Json> values = done.objects();
  EXPECT_EQ(values.back().at("summary").at("ops"), 4);
  EXPECT_EQ(at("replay dump --ops relu --last 1 --json").objects().back().at("summary").at("ops"), 1);
  EXPECT_EQ(at("replay dump relu_1 --ops relu").code, 2) << "an op and a selection";
}

TEST_F(Selection, ReportsHaveTheChosenRecords) {
  const Done done = at("report dump --out some.html --types Softmax --last 2 --json");
  ASSERT_EQ(done.code, 0) << done.said();
  const Json report = done.object();
  EXPECT_THAT(report.at("left_out").at(0).get<std::string>(), HasSubstr("chosen records: 2 of "));
  const Json whole = at("report dump --out whole.html --json").object();
  EXPECT_LT(report.at("answers"), whole.at("answers"));
  EXPECT_TRUE(whole.at("left_out").empty());
  EXPECT_THAT(read(path("some.html")), HasSubstr("The sentences and the graph are about the whole dump."));
}

TEST_F(Selection, RanksCompareTheChosenValues) {
  const Done whole = at("ranks job --json");
  const Json all = whole.object();
  const Done some = at("ranks job --types Softmax --last 2 --json");
  const Json chosen = some.object();
  EXPECT_EQ(all.at("apart").at("pair").at("judged"), 5) << whole.said();
  EXPECT_EQ(chosen.at("apart").at("pair").at("judged"), 1) << some.said();
  EXPECT_EQ(chosen.at("steps"), all.at("steps")) << "of the whole job";
  EXPECT_EQ(chosen.at("nonfinite"), all.at("nonfinite"));
}

TEST_F(Selection, AChoiceOfNothingNamesTheNearestAndLeavesNothing) {
  const std::vector<std::string> commands = {"convert dump made --to tap",
                                             "convert dump made --to npy",
                                             "convert dump made.json --to model-explorer",
                                             "replay dump",
                                             "report dump --out made.html",
                                             "ranks job"};
  for (const std::string& command : commands) {
    const std::pair<const char*, const char*> rows[] = {
        {" --types Sofmax", "Did you mean \"Softmax\"?"},      {" --ops rellu", "no op is, or matches, \"rellu\""},
        {" --modules layers.9", "names no modules"},           {" --steps 9", "no record is of step \"9\""},
        {" --ops (", "--ops \"(\": not a regular expression"},
    };
    for (const auto& [option, said] : rows) {
      const Done done = at(command + option);
      EXPECT_EQ(done.code, 2) << command << option << "\n" << done.said();
      EXPECT_THAT(done.err, HasSubstr(said)) << command << option;
      for (const char* made : {"made", "made.html", "made.json"}) EXPECT_FALSE(exists(made)) << command << option;
    }
  }
}

}  // namespace
}  // namespace command
