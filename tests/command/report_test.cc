// `tensortap report`: one file and its contents, and errors in the words of its command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "command/command.h"
#include "command/suite_folder.h"

namespace command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Report : public SuiteFolder<Report> {
 public:
  static void make() {
    write(path("m.onnx"), small_model());
    write(path("inf.onnx"), nonfinite_model());
    write(path("zero.npy"), npy({2, 3}, {1, 2, 0, 4, 5, 6}));
    ASSERT_EQ(at("run m.onnx --full --slots in,out --runs 2 --out dump").code, 0);
    ASSERT_EQ(at("run inf.onnx --input x=zero.npy --out bare").code, 0);
  }

 protected:
  // The answers that a report holds.
  static Json answers_in(const std::string& name) {
    const std::string page = read(path(name));
    const std::string begin = R"(<script type="application/json" id="tensortap-data">)";
    const size_t from = page.find(begin) + begin.size();
    return Json::parse(page.substr(from, page.find("</script>", from) - from));
  }
};

TEST_F(Report, HoldsWhatLsSaysAndIsTheSameEachTime) {
  const Done done = at("report dump --out r.html");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.out, testing::StartsWith("r.html: "));
  const Json answers = answers_in("r.html");
  EXPECT_THAT(answers.at("/api/dump").at("report").at("made").get<std::string>(), HasSubstr("tensortap"));
  const std::vector<Json> listed = at("ls dump --json").objects();
  const Json& items = answers.at("/api/records").at("items");
  ASSERT_EQ(items.size(), listed.size());
  for (size_t i = 0; i < listed.size(); ++i) {
    for (const auto& [key, value] : listed[i].items()) EXPECT_EQ(items[i].at(key), value) << key;
    EXPECT_TRUE(answers.contains("/api/record/" + std::to_string(i))) << i;
  }
  ASSERT_EQ(at("report dump --out again.html").code, 0);
  EXPECT_EQ(read(path("again.html")), read(path("r.html")));
}

TEST_F(Report, CompareWritesWhatItHasFound) {
  write(path("loose.txt"), ".* 9 9\n");
  ASSERT_EQ(at("run m.onnx --full --input x=zero.npy --out few").code, 0);
  const Done done = at("compare few dump --tolerance loose.txt --report c.html --json");
  EXPECT_EQ(done.code, 0) << done.said();
  const Json answers = answers_in("c.html");
  Json summary = done.objects().back().at("summary");
  summary.erase("dump");  // a page tells it of each dump
  EXPECT_EQ(answers.at("/api/dump").at("compare").at("summary"), summary);
  ASSERT_EQ(at("compare dump dump --report c.html").code, 0);
  ASSERT_EQ(at("report dump dump --out r.html").code, 0);
  EXPECT_EQ(read(path("c.html")), read(path("r.html")));
}

TEST_F(Report, ReplacesTheFileAndSaysSoAsJson) {
  write(path("old.html"), "old");
  const Done done = at("report bare --out old.html --json");
  ASSERT_EQ(done.code, 0) << done.said();
  EXPECT_EQ(done.object().at("report"), "old.html");
  EXPECT_EQ(done.object().at("bytes"), std::filesystem::file_size(path("old.html")));
  EXPECT_EQ(answers_in("old.html").size(), done.object().at("answers"));
  EXPECT_TRUE(done.object().at("left_out").is_array());
  EXPECT_EQ(at("report bare --quiet").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("report.html"))) << "without --out";
}

TEST_F(Report, WhatIsWrongIsSaidAndNothingIsWritten) {
  std::filesystem::create_directory(path("no_dump"));
  write(path("no_dump/file.txt"), "text");
  const struct {
    std::string words;
    int code;
    std::string said;
  } cases[] = {
      {"report", 2, "tensortap report needs DUMP"},
      {"report missing --out x.html", 2, "missing"},
      {"report no_dump --out x.html", 2, "no_dump"},
      {"report dump missing --out x.html", 2, "missing"},
      {"report dump --out no/such/x.html", 2, "no such folder"},
      {"report dump --out no_dump", 2, "a folder; name a file"},
      {"report dump --out " + std::string(5000, 'a'), 2, "--out: a name of 5000 bytes"},
      {"report dump --oot x.html", 2, "--oot"},
  };
  for (const auto& one : cases) {
    const Done done = at(one.words);
    EXPECT_EQ(done.code, one.code) << one.words << "\n" << done.said();
    EXPECT_THAT(done.err, HasSubstr(one.said)) << one.words;
  }
  EXPECT_FALSE(std::filesystem::exists(path("x.html")));
}

TEST_F(Report, ADamagedDumpIsReportedAsFarAsItCanBeRead) {
  std::filesystem::copy(path("dump"), path("damaged"), std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(path("damaged/tensors.npz"), 100);
  const Done done = at("report damaged --out damaged.html");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_FALSE(answers_in("damaged.html").at("/api/records").at("items").empty());
  std::filesystem::copy(path("dump"), path("empty"), std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(path("empty/records.npy"), 10);
  EXPECT_THAT(at("report empty --out empty.html").said(), AllOf(HasSubstr("records.npy"), Not(HasSubstr("internal"))));
}

TEST_F(Report, OfTwoDumpsTheComparisonIsInIt) {
  ASSERT_EQ(at("run m.onnx --full --slots in,out --runs 2 --as-written --out other").code, 0);
  EXPECT_EQ(at("report other dump --out two.html").code, 0);
  const Json answers = answers_in("two.html");
  Json summary = at("compare other dump --json").objects().back().at("summary");
  summary.erase("dump");  // a page tells it of each dump
  EXPECT_EQ(answers.at("/api/compare").at("summary"), summary);
  EXPECT_EQ(answers.at("/api/dump").at("dumps").size(), 2U);
  EXPECT_EQ(answers.at("/api/pairs?only=all&sort=order").at("pairs").size(), summary.at("records"));
  const Done done = at("compare other dump --report beside.html");
  EXPECT_EQ(done.code, 0) << done.said();
  EXPECT_THAT(done.err, HasSubstr("beside.html: "));
  EXPECT_EQ(read(path("beside.html")), read(path("two.html")));
  const Done nothing = at("report dump bare --out nothing.html");
  EXPECT_EQ(nothing.code, 3) << "they share nothing";
  EXPECT_FALSE(std::filesystem::exists(path("nothing.html")));
  EXPECT_EQ(at("compare other dump --report no/such/x.html").code, 2);
}

TEST_F(Report, NamesDoNotEndTheScript) {
  write(path("hostile.onnx"), model({{"Relu", "</script><script>window.hurt = 1</script>\xe2\x80\xa8<!--", {"x"}, {"y"}}}));
  ASSERT_EQ(at("run hostile.onnx --out hostile").code, 0);
  ASSERT_EQ(at("report hostile --out hostile.html").code, 0);
  const std::string page = read(path("hostile.html"));
  EXPECT_THAT(page, Not(HasSubstr("<script>window.hurt")));
  EXPECT_THAT(answers_in("hostile.html").dump(), HasSubstr("</script><script>window.hurt = 1</script>"));
}

}  // namespace
}  // namespace command
