// `ls`, `show`, `find` and `repair` on native dumps of small models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Dumps : public SuiteFolder<Dumps> {
 public:
  // One dump for all tests: none of them writes into it.
  static void make() {
    write(*folder_ / "model.onnx", small_model());
    write(*folder_ / "nonfinite.onnx", nonfinite_model());
    write(*folder_ / "x.npy", npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    write(*folder_ / "zeros.npy", npy({2, 3}, {0, 1, 2, 3, 4, 0}));
    const std::string scope = "jit_MagikaV2/ApplyActivation_1/block_with_a_long_name";
    write(*folder_ / "deep.onnx", model({{"Relu", scope + "/first/Relu_1", {"x"}, {"r"}},
                                         {"Exp", scope + "/second/Exp_1", {"r"}, {"e"}},
                                         {"Softmax", scope + "/second/Softmax_1", {"e"}, {"y"}}}));
    ASSERT_EQ(tensortap("run model.onnx --input x=x.npy --full --runs 2 --out dump", {folder_->path()}).code, 0);
    ASSERT_EQ(tensortap("run deep.onnx --stats --out deep", {folder_->path()}).code, 0);
  }

 protected:
  static Done at(const std::vector<std::string>& words, const std::string& columns = "") {
    return tensortap(words, {folder_->path(), {{"COLUMNS", columns}}});
  }
  using SuiteFolder::at;
  static std::vector<Json> records(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"ls", "dump", "--json"});
    return at(more).objects();
  }
  template <typename Keep>
  static std::vector<Json> those(std::vector<Json> all, const Keep& keep) {
    std::erase_if(all, [&](const Json& record) { return !keep(record); });
    return all;
  }
  static std::vector<Json> member(const std::vector<Json>& all, const char* name) {
    std::vector<Json> values;
    for (const Json& record : all) values.push_back(record[name]);
    return values;
  }
};

// --- ls -------------------------------------------------------------------------------------------------------------------------------

TEST_F(Dumps, LsGivesEveryRecordInTheDocumentedForm) {
  const std::vector<std::string> keys = {"step",  "call",    "rank",    "phase", "op",   "type", "slot",  "dtype",
                                         "shape", "numel",   "min",     "max",   "mean", "std",  "l2",    "absmax",
                                         "nan",   "pos_inf", "neg_inf", "zero",  "hash", "file", "source"};
  const Done done = at("ls dump --json");
  const auto lines = lines_of(done.out);
  EXPECT_EQ(static_cast<int64_t>(lines.size()), read_npy(path("dump/records.npy")).shape.at(0));
  for (const std::string& line : lines) {
    size_t place = 0;
    for (const std::string& key : keys) {
      const size_t found = line.find("\"" + key + "\":", place);
      ASSERT_NE(found, std::string::npos) << key << " in " << line;
      place = found;
    }
  }
}

TEST_F(Dumps, LsFilters) {
  const auto all = records();
  const auto softmax = those(all, [](const Json& record) { return record["type"] == "Softmax"; });
  ASSERT_FALSE(softmax.empty());
  EXPECT_EQ(records({"--type", "Softmax"}), softmax);
  EXPECT_EQ(records({"--op", "^soft"}), softmax);
  EXPECT_EQ(records({"--step", "1"}), those(all, [](const Json& record) { return record["step"] == 1; }));
  EXPECT_EQ(records({"--slot", "out0"}), those(all, [](const Json& record) { return record["slot"] == "out0"; }));
  EXPECT_EQ(records({"--where", "max > 0.5"}),
            those(all, [](const Json& record) { return record["max"].is_number_float() && record["max"] > 0.5; }));
}

TEST_F(Dumps, LsSortsAndLimits) {
  auto down = member(records({"--sort", "-absmax"}), "absmax");
  EXPECT_TRUE(std::is_sorted(down.rbegin(), down.rend()));
  const auto up = member(records({"--sort", "numel"}), "numel");
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end()));
  down.resize(2);
  EXPECT_EQ(member(records({"--sort", "-absmax", "--limit", "2"}), "absmax"), down);
  const auto names = member(records({"--sort", "op"}), "op");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST_F(Dumps, LsFitsTheTerminal) {
  for (const std::string& line : lines_of(at("ls dump", "80").out)) EXPECT_LE(line.size(), 110U);
  EXPECT_THAT(at("ls dump").out, HasSubstr("softmax_1"));
  EXPECT_THAT(at("ls dump --type Softmax --columns op,type,slot,dtype,shape,min", "60").out, HasSubstr("Softmax"));
}

TEST_F(Dumps, LsKeepsWhatTellsNamesApartAndDropsTheLeastAskedStatistics) {
  const Done done = at("ls deep --type Exp,Softmax", "100");
  const auto table = lines_of(done.out);
  for (const std::string& line : table) {
    size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    EXPECT_LE(width, 100U) << line;
  }
  EXPECT_THAT(done.out, AllOf(HasSubstr("…/Softmax_1"), HasSubstr("…/Exp_1")));
  EXPECT_THAT(table.at(0), AllOf(Not(HasSubstr("zero")), HasSubstr("min")));
  EXPECT_TRUE(matches(lines_of(done.err).back(), "too narrow for zero.*\\(--columns chooses\\)$")) << done.err;
  const Done wide = at("ls deep --type Exp", "400");
  EXPECT_THAT(wide.out, HasSubstr("block_with_a_long_name/second/Exp_1"));
  EXPECT_THAT(wide.err, Not(HasSubstr("too narrow")));
}

TEST_F(Dumps, LsShowsTheColumnsThatWereChosen) {
  EXPECT_TRUE(matches(lines_of(at("ls deep --columns row,slot,absmax,op", "60").out).at(0), "^ *row +slot +absmax +op *$"));
  const Done refused = at("ls deep --columns op,absmaxx");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("Did you mean \"absmax\""));
}

// --- show -----------------------------------------------------------------------------------------------------------------------------

TEST_F(Dumps, ShowTakesTheRowThatLsPrints) {
  const auto rows = records();
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i]["row"], i);
  const Json shown = at("show dump 1 --json").object();
  for (const char* name : {"op", "slot", "step"}) EXPECT_EQ(shown[name], rows[1][name]);
  const std::string count = std::to_string(rows.size());
  const Done refused = at("show dump " + count);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("has " + count + " rows"));
}

TEST_F(Dumps, ShowWritesThePartThatWasAskedFor) {
  ASSERT_EQ(at("show dump softmax_1:out0 --npy a.npy").code, 0);
  ASSERT_EQ(at("show dump softmax_1:out0 --at ::-1,1:3 --npy b.npy").code, 0);
  const auto whole = read_npy(path("a.npy")).floats();
  ASSERT_EQ(whole.size(), 8U);
  EXPECT_EQ(read_npy(path("b.npy")).floats(), (std::vector<float>{whole[5], whole[6], whole[1], whole[2]}));
}

TEST_F(Dumps, ShowGivesValuesAndTheirHistogram) {
  ASSERT_EQ(at("show dump softmax_1:out0@1 --npy v.npy").code, 0);
  const auto values = read_npy(path("v.npy")).floats();
  EXPECT_FLOAT_EQ(at("show dump softmax_1:out0@1 --at 0,-1 --json").object()["values"].get<float>(), values[3]);
  const Json whole = at("show dump softmax_1:out0@1 --json").object();
  std::vector<float> flat;
  for (const Json& row : whole["values"]) {
    for (const Json& value : row) flat.push_back(value.get<float>());
  }
  EXPECT_EQ(flat, values);
  int64_t sum = 0;
  for (const Json& count : whole["histogram"]) sum += count.get<int64_t>();
  EXPECT_EQ(sum, 8);
}

TEST_F(Dumps, ShowSaysSoWhereValuesWereNotKept) {
  const Done done = at("show deep 1");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out, HasSubstr("--full"));
  EXPECT_THAT(at("show deep 1 --npy none.npy").code, testing::AnyOf(2, 3));
  EXPECT_FALSE(fs::exists(path("none.npy")));
}

// --- find -----------------------------------------------------------------------------------------------------------------------------

TEST_F(Dumps, FindNamesTheFirstNonfiniteValueAndEndsWith1) {
  const Json first = at("run nonfinite.onnx --input x=zeros.npy --full --out infinite --json").object()["first_nonfinite"];
  EXPECT_EQ(first["op"], "div_1");
  EXPECT_EQ(first["slot"], "out0");
  EXPECT_EQ(first["pos_inf"], 2);
  EXPECT_EQ(first["index"], Json::array({0, 0}));
  const Done done = at("find infinite --json");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.object()["first_nonfinite"].dump(), HasSubstr("div_1"));
  const std::string said = at("find infinite").out;
  EXPECT_THAT(said, AllOf(StartsWith("first non-finite value: step 0, div_1 (Div) out0: 2 +Inf, the first at [0, 0]\n"),
                          HasSubstr("\n  read x:out0: min 0"), HasSubstr("seen ")));
  EXPECT_THAT(said, AllOf(Not(HasSubstr("0 NaN")), Not(HasSubstr("absmax inf"))));
}

TEST_F(Dumps, FindIsContentWithAFiniteDumpAndFitsOnOneScreen) {
  const Done done = at("find dump --json");
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(done.object()["first_nonfinite"].is_null());
  const auto lines = lines_of(at("find deep").out);
  EXPECT_LE(lines.size(), 20U);
  EXPECT_EQ(std::ranges::count_if(lines, [](const std::string& line) { return line.find("closest to the limit of") != std::string::npos; }),
            2);
  EXPECT_GT(lines_of(at("find deep --all").out).size(), lines.size());
}

TEST_F(Dumps, FindNamesInfiniteWeightsAndDoesNotMindThem) {
  const float infinity = HUGE_VALF;
  write(path("masked.onnx"), model({{"Max", "max_1", {"x", "mask"}, {"m"}}, {"Relu", "relu_1", {"m"}, {"y"}}}, {2, 3},
                                   {{"mask", {3}, {-infinity, 0, -infinity}}}));
  ASSERT_EQ(at("run masked.onnx --input x=x.npy --full --out masked").code, 0);
  const Done done = at("find masked --json");
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(done.object()["first_nonfinite"].is_null());
  ASSERT_EQ(done.object()["origins"].size(), 1U);
  EXPECT_EQ(done.object()["origins"][0]["kind"], "weight");
  const std::string said = at("find masked").out;
  EXPECT_TRUE(done.object()["origins"][0]["harmless"].get<bool>());
  EXPECT_THAT(said, StartsWith("no NaN and no Inf in what the program saw\n"));
  EXPECT_THAT(said, AllOf(HasSubstr("mask:out0 (Initializer): 2 -Inf"), Not(HasSubstr("absmax inf"))));
}

// --- repair ---------------------------------------------------------------------------------------------------------------------------

TEST_F(Dumps, RepairMendsADumpThatWasCutShort) {
  fs::copy(path("dump"), path("cut"), fs::copy_options::recursive);
  EXPECT_EQ(at("repair cut --json").object()["healthy"], true);
  fs::resize_file(path("cut/tensors.npz"), fs::file_size(path("cut/tensors.npz")) * 2 / 3);
  EXPECT_EQ(at("repair cut --dry-run --json").object()["healthy"], false);
  const Done done = at("repair cut --json");
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_GT(done.object()["tensors_lost"], 0);
  // Every tensor that is listed with a file exists; the directory of the archive has as many entries.
  const std::string archive = read(path("cut/tensors.npz"));
  int entries = 0;
  for (size_t place = archive.find("PK\1\2"); place != std::string::npos; place = archive.find("PK\1\2", place + 1)) ++entries;
  EXPECT_EQ(done.object()["tensors_kept"], entries);
  EXPECT_EQ(at("repair cut --json").object()["healthy"], true);
}

TEST_F(Dumps, RepairCountsWhatWasCutOffAFinishedDumpAndTellsOfLostNames) {
  fs::copy(path("dump"), path("short"), fs::copy_options::recursive);
  const int64_t rows = at("repair short --json").object()["records_kept"];
  const Array all = read_npy(path("short/records.npy"));
  const auto row_size = all.raw.size() / static_cast<size_t>(all.shape.at(0));
  fs::resize_file(path("short/records.npy"), fs::file_size(path("short/records.npy")) - 2 * row_size);
  const Json dry = at("repair short --dry-run --json").object();
  const Json done = at("repair short --json").object();
  for (const Json& said : {dry, done}) {
    EXPECT_EQ(said["records_kept"], rows - 2);
    EXPECT_EQ(said["records_lost"], 2);
  }
  EXPECT_EQ(at("repair short --json").object()["healthy"], true);
  fs::remove(path("short/ops.jsonl"));
  const Json nameless = at("repair short --json").object();
  EXPECT_EQ(nameless["healthy"], false);
  EXPECT_EQ(nameless["lost"],
            Json::array({"ops.jsonl is missing, and with it the names of the ops of " + std::to_string(rows - 2) + " records"}));
}

}  // namespace
}  // namespace command
