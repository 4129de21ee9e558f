// Dumps of which some records lack the statistics that a question needs: no answer about them is an all-clear.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kClear = 0;
constexpr int kFinding = 1;
constexpr int kUnsure = 3;
constexpr size_t kRowsBegin = 4096;  // docs/layouts/tap.md
constexpr size_t kRow = 576;
constexpr size_t kValid = 352;  // of the statistics of a row
constexpr uint32_t kNoneOfThem = 0;
constexpr uint32_t kWithoutCounts = ~uint32_t{0b111 << 6};  // nan, pos_inf, neg_inf

// Four ops in a row, 12 steps, statistics only.
class NotKnown : public SuiteFolder<NotKnown> {
 public:
  static void make() {
    write(*folder_ / "m.onnx", chain_model());
    write(*folder_ / "x.npy", npy({2, 3}, {0.5F, -1, 2, 1.5F, 0.25F, -0.75F}));
    write(*folder_ / "nonfinite.onnx", nonfinite_model());
    write(*folder_ / "zeros.npy", npy({2, 3}, {0, 1, 2, 3, 4, 0}));
    ASSERT_EQ(at("run m.onnx --input x=x.npy --stats --runs 12 --out whole").code, kClear);
    ASSERT_EQ(at("run nonfinite.onnx --input x=zeros.npy --stats --runs 4 --out bad").code, kClear);
  }

 protected:
  // A copy of `dump` whose records of every `period`th place keep these statistics of those that they had.
  static void strip(const std::string& dump, const std::string& to, size_t period, uint32_t kept) {
    fs::remove_all(path(to));
    fs::create_directories(fs::path(path(to)).parent_path());
    fs::copy(path(dump), path(to), fs::copy_options::recursive);
    std::string rows = read(path(to + "/records.npy"));
    const size_t count = (rows.size() - kRowsBegin) / kRow;
    for (size_t row = period - 1; row < count; row += period) {
      char* valid = rows.data() + kRowsBegin + row * kRow + kValid;
      uint32_t bits = 0;
      std::memcpy(&bits, valid, sizeof(bits));
      bits &= kept;
      std::memcpy(valid, &bits, sizeof(bits));
    }
    write(path(to + "/records.npy"), rows);
    // What it says of its files no longer holds; older dumps say nothing of them.
    Json manifest = Json::parse(read(path(to + "/run.json")));
    manifest.erase("files");
    write(path(to + "/run.json"), manifest.dump());
  }
  static std::string first_line(const Done& done) { return lines_of(done.out).front(); }
};

TEST_F(NotKnown, FindSaysSoInItsFirstLineAndEndsWith3) {
  ASSERT_EQ(at("find whole").code, kClear);
  strip("whole", "half", 4, kWithoutCounts);
  const size_t all = static_cast<size_t>(read_npy(path("half/records.npy")).shape.at(0));
  const std::string sentence =
      std::to_string(all / 4) + " of " + std::to_string(all) + " records have neither counts of all elements nor all data";
  const Done found = at("find half");
  EXPECT_EQ(found.code, kUnsure) << found.said();
  EXPECT_EQ(first_line(found), "not known: " + sentence + "; otherwise no NaN and no Inf");
  const Done json = at("find half --json");
  EXPECT_EQ(json.code, kUnsure);
  EXPECT_EQ(json.object().at("not_known"), sentence);
  EXPECT_EQ(json.object().at("unknown"), all / 4);
  EXPECT_TRUE(at("find whole --json").object().at("not_known").is_null());
  EXPECT_THAT(at("report half --out report.html").code, kClear);
  EXPECT_THAT(read(path("report.html")), HasSubstr("Not known: " + sentence));
}

TEST_F(NotKnown, NoOtherQuestionClearsThemEither) {
  strip("whole", "half", 4, kNoneOfThem);
  const std::pair<const char*, const char*> rows[] = {
      {"find half --suspects", "not known: "},
      {"find half --trends", "not known: of "},
      {"find half --watch tensor_overflow", "without the statistics or data that it needs"},
      {"find half --watch operator_overflow", "without the statistics or data that it needs"},
      {"find half --watch tensor_too_large:max_gt=1e30", "without the statistics or data that it needs"},
  };
  for (const auto& [words, said] : rows) {
    const Done done = at(words);
    EXPECT_EQ(done.code, kUnsure) << words << "\n" << done.said();
    EXPECT_THAT(first_line(done), HasSubstr(said)) << words;
    const Done json = at(std::string(words) + " --json");
    EXPECT_EQ(json.code, kUnsure) << words;
    EXPECT_TRUE(json.object().at("not_known").is_string()) << words;
    const std::string sound = std::string(words).replace(5, 4, "whole");
    EXPECT_EQ(at(sound).code, kClear) << sound << at(sound).said();
    EXPECT_TRUE(at(sound + " --json").object().at("not_known").is_null()) << sound;
  }
}

TEST_F(NotKnown, LsSaysWhichConditionsItCannotDecide) {
  strip("whole", "half", 4, kWithoutCounts);
  const Done listed = at("ls half --where nan>0");
  EXPECT_EQ(listed.code, kClear) << listed.said();
  EXPECT_THAT(listed.err, HasSubstr("that meet the rest lack a statistic that --where needs"));
  EXPECT_THAT(at("ls whole --where nan>0").err, Not(HasSubstr("not known")));
  EXPECT_THAT(at("ls half --where absmax>100").err, Not(HasSubstr("not known")));
}

TEST_F(NotKnown, AFindingStaysOne) {
  strip("bad", "half_bad", 3, kWithoutCounts);
  const Done done = at("find half_bad");
  EXPECT_EQ(done.code, kFinding) << done.said();
  EXPECT_THAT(first_line(done), StartsWith("first non-finite value: "));
  EXPECT_THAT(done.out, HasSubstr("with neither counts of all elements nor all data"));
}

TEST_F(NotKnown, OpsThatRanUnseenClearNothing) {
  const auto with_reason = [](const std::string& reason, const std::string& to) {
    strip("whole", to, 1000000, kWithoutCounts);
    Json manifest = Json::parse(read(path(to + "/run.json")));
    manifest["ops"]["not_captured"] = Json::array({{{"reason", reason}, {"count", 2}, {"examples", {"embedding", "spmm"}}}});
    write(path(to + "/run.json"), manifest.dump());
    return at("find " + to);
  };
  const Done sparse = with_reason("sparse tensor", "sparse");
  EXPECT_EQ(sparse.code, kUnsure) << sparse.said();
  const std::string hidden = "values of 2 ops are in a form that is not looked into, such as sparse tensors";
  EXPECT_EQ(first_line(sparse), "not known: " + hidden + "; otherwise no NaN and no Inf in what was captured");
  EXPECT_EQ(at("find sparse --json").object().at("not_known"), hidden);
  const Done sequences = with_reason("sequence output", "sequences");
  EXPECT_EQ(sequences.code, kUnsure) << sequences.said();
  EXPECT_EQ(first_line(sequences), "no NaN and no Inf in what was captured");
  EXPECT_THAT(sequences.out, HasSubstr("not captured: 2 sequence output (embedding, spmm)"));
  EXPECT_EQ(at("find sequences --json").object().at("not_known"), "2 ops ran whose values were not looked at (sequence output)");
  const Done meta = with_reason("meta tensor", "meta");
  EXPECT_EQ(meta.code, kClear) << "it has no values" << meta.said();
  EXPECT_EQ(with_reason("never ran", "never").code, kClear);

  EXPECT_EQ(at("compare whole meta").code, kClear);
  const Done compared = at("compare whole sparse");
  EXPECT_EQ(compared.code, kUnsure) << compared.said();
  EXPECT_THAT(compared.out, HasSubstr("but in B " + hidden));
  EXPECT_EQ(with_reason("kernels fused by torch.compile; exec --compile captures ops", "fused").code, kUnsure);
  EXPECT_THAT(at("compare fused whole --json").out, HasSubstr(R"("not_known":"in A fused kernels ran whose values were not looked at")"));
}

TEST_F(NotKnown, OneOfSeveralProcessesIsEnough) {
  strip("whole", "job", 1000000, kWithoutCounts);
  strip("whole", "job/process_7", 4, kWithoutCounts);
  const Done done = at("find job");
  EXPECT_EQ(done.code, kUnsure) << done.said();
  EXPECT_EQ(first_line(done), "no NaN and no Inf in 2 processes; not all is known of 1");
  const Json answer = at("find job --json").object();
  EXPECT_THAT(answer.at("not_known").get<std::string>(), StartsWith("process_7"));
}

// What MindInsight calls an error is no hit, and no all-clear.
TEST_F(NotKnown, AWatchpointThatNaNKeepsFromLookingClearsNothing) {
  const Done done = at("find bad --watch tensor_too_large:mean_gt=1e30 --json");
  EXPECT_EQ(done.code, kUnsure) << done.said();
  EXPECT_THAT(done.object().at("not_known").get<std::string>(), StartsWith("tensor_too_large was not judged for "));
  const Done change = at("find whole --watch tensor_change_too_large --steps 0");
  EXPECT_EQ(change.code, kUnsure) << change.said();
  EXPECT_THAT(change.out, Not(HasSubstr("1 hit")));
}

TEST_F(NotKnown, CompareClearsNoRecordOfWhichNothingIsKnown) {
  ASSERT_EQ(at("compare whole whole").code, kClear);
  EXPECT_TRUE(at("compare whole whole --json").objects().back().at("summary").at("not_known").is_null());
  strip("whole", "gaps", 4, kNoneOfThem);
  const Done compared = at("compare gaps whole");
  EXPECT_EQ(compared.code, kUnsure) << compared.said();
  EXPECT_THAT(compared.out, HasSubstr("unknown: what could be compared agrees, but 12 of "));
  EXPECT_THAT(compared.out, HasSubstr(" could not be compared (neither data nor statistics of both)"));
  const Json summary = at("compare gaps whole --json").objects().back().at("summary");
  EXPECT_EQ(summary.at("uncompared"), 12);
  EXPECT_EQ(summary.at("outside"), false);
}

}  // namespace
}  // namespace command
