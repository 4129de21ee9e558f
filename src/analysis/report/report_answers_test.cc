#include "report/report_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "serve/web_request.h"

namespace tensortap {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A server with as much as is wanted of everything.
class FakeServer {
 public:
  uint64_t ops = 20;
  uint64_t records = 60;
  uint64_t pairs = 0;             // 0 = one dump
  bool has_data = true;           // false = statistics alone
  size_t padding = 100;           // bytes of an item
  uint32_t side = 4;              // of each tensor, which has two dimensions
  size_t whole_graph = 1000;      // bytes of the graph with everything open
  int answers_until_ready = 0;    // of the comparison
  std::string failure;            // of the comparison
  std::string source;             // the file that lines of ops were read from
  std::vector<std::string> seen;  // what was asked

  Answer get(std::string_view target) {
    seen.emplace_back(target);
    const auto request = WebRequest::parse(target);
    if (!request.ok()) return error_answer(request.status());
    const std::vector<std::string>& parts = request->parts();
    if (parts.size() == 2 && parts[1] == "dump") return json_answer(start());
    if (parts.size() == 2 && parts[1] == "compare") return pairs == 0 ? error_answer(404, "one dump") : json_answer(comparison());
    if (parts.size() == 2 && parts[1] == "records") return list(*request, "record", records);
    if (parts.size() == 2 && parts[1] == "pairs") return list(*request, "pair", pairs);
    if (parts.size() == 2 && parts[1] == "graph") return json_answer(graph(request->text("open")));
    if (parts.size() == 2 && parts[1] == "heat") return binary_answer("heat");
    if (parts.size() == 2 && parts[1] == "series") return json_answer({{"series", std::string(padding, 's')}});
    if (parts.size() == 3 && (parts[1] == "record" || parts[1] == "op")) return json_answer(one());
    if (parts.size() == 3 && parts[1] == "pair") return json_answer({{"shape_a", {side, side}}, {"record_a", 1}, {"record_b", 2}});
    if (parts.size() == 4 && parts[3] == "histogram") return json_answer({{"kind", "linear"}});
    if (parts.size() == 4 && parts[3] == "slice") return binary_answer(slice());
    return error_answer(404, "no such address");
  }

 private:
  [[nodiscard]] Json start() const {
    const Json dump = {{"name", "made"}, {"ops", ops}, {"records", records}, {"steps", {0, 1}}, {"has_data", has_data}};
    Json answer = {{"dumps", {dump}},
                   {"sentences", {{{"text", "NaN"}, {"link", "#tensor?record=41"}}, {{"text", "-"}, {"link", nullptr}}}}};
    if (pairs > 0) answer["dumps"].push_back(dump);
    return answer;
  }
  Json comparison() {
    if (!failure.empty()) return {{"state", "failed"}, {"error", failure}};
    return {{"state", answers_until_ready-- > 0 ? "running" : "ready"}, {"done", 1}, {"all", 2}};
  }
  [[nodiscard]] Answer list(const WebRequest& request, const char* number, uint64_t total) const {
    const auto page = request.page();
    if (!page.ok()) return error_answer(page.status());
    Json answer = list_json(page->from, page->limit, total);
    for (size_t i = page->from; i < std::min<size_t>(page->from + page->limit, total); ++i) {
      answer["items"].push_back({{number, i}, {"op_id", i % ops}, {"numel", side * side}, {"padding", std::string(padding, 'p')}});
    }
    return json_answer(answer);
  }
  [[nodiscard]] Json graph(const std::string& open) const {
    Json nodes = Json::array();
    for (uint64_t i = 0; i < std::min<uint64_t>(ops, 300); ++i) nodes.push_back({{"kind", "op"}, {"op", i}});
    return {{"nodes", nodes}, {"padding", std::string(open == "all" ? whole_graph : 0, 'g')}};
  }
  [[nodiscard]] Json one() const {
    const Json lines = source.empty() ? Json(nullptr) : Json({{"file", "net.py"}, {"read", source}});
    return {{"has_data", has_data}, {"shape", {side, side}}, {"source_lines", lines}, {"padding", std::string(padding, 'p')}};
  }
  [[nodiscard]] std::string slice() const {
    const std::array<uint32_t, 10> header = {0x534c4943, side, side, 1, 1, side, side, 0, 0, 0};
    std::string bytes(sizeof header + sizeof(float) * side * side, '\0');
    std::memcpy(bytes.data(), header.data(), sizeof header);
    return bytes;
  }
};

struct Made {
  Result<AddedAnswers> notes = AddedAnswers();
  std::string text;
  Json kept;
};

Made made(FakeServer& server, uint64_t most = 20'000'000) {
  EmbeddedAnswers answers(most);
  Made result;
  result.notes = add_report_answers([&server](std::string_view target) { return server.get(target); }, "Made by a test.", nullptr, answers);
  result.text = answers.text();
  result.kept = Json::parse(result.text);
  EXPECT_LE(result.text.size(), most);
  return result;
}

TEST(ReportAnswers, OfASmallDumpEverythingIsThere) {
  FakeServer server;
  const Made report = made(server);
  ASSERT_TRUE(report.notes.ok());
  EXPECT_EQ(report.notes->left_out, std::vector<std::string>());
  EXPECT_EQ(report.kept.at("/api/dump").at("report"), Json({{"made", "Made by a test."}, {"cut", nullptr}, {"sources", Json::array()}}));
  EXPECT_EQ(report.kept.at("/api/records").at("items").size(), 60U);
  for (const char* target : {"/api/graph?open=auto", "/api/heat?by=nonfinite", "/api/op/19", "/api/record/0", "/api/record/59",
                             "/api/record/59/histogram?bins=64", "/api/record/59/slice?at=%3A%2C%3A&rows=0%3A4&cols=0%3A4&reduce=absmax",
                             "/api/series?op=19&key=absmax%2Cl2%2Cmean%2Cstd%2Cmin%2Cmax%2Czero%2Cnan"}) {
    EXPECT_TRUE(report.kept.contains(target)) << target;
  }
  EXPECT_FALSE(report.kept.contains("/api/graph?open=all")) << "the first graph shows every op";
  FakeServer again;
  EXPECT_EQ(made(again).text, report.text);
}

TEST(ReportAnswers, WhatIsLinkedComesFirstAndTheRestIsSaidToBeLeftOut) {
  FakeServer server;
  server.ops = 1000;
  server.records = 6000;
  server.padding = 1000;
  server.side = 256;
  server.whole_graph = 7'000'000;
  const Made report = made(server);
  ASSERT_TRUE(report.notes.ok());
  EXPECT_EQ(report.kept.at("/api/records").at("items").size(), kMostReportRows);
  EXPECT_TRUE(report.kept.contains("/api/record/41"));
  EXPECT_TRUE(report.kept.contains("/api/record/41/slice?at=%3A%2C%3A&rows=0%3A256&cols=0%3A256&reduce=absmax"));
  EXPECT_FALSE(report.kept.contains("/api/graph?open=all"));
  EXPECT_THAT(report.notes->left_out, Contains("The first 5000 of 6000 records of made are here."));
  EXPECT_THAT(report.notes->left_out, Contains("Groups of the graph of made do not open here."));
  EXPECT_THAT(report.notes->left_out, Contains(HasSubstr("of the first ")));
  const std::string cut = report.kept.at("/api/dump").at("report").at("cut");
  for (const std::string& note : report.notes->left_out) EXPECT_THAT(cut, HasSubstr(note));
}

TEST(ReportAnswers, ValuesAreMissedOnlyWhereADumpHasThem) {
  for (const bool has_data : {true, false}) {
    FakeServer server;
    server.records = 300;
    server.padding = 1000;
    server.has_data = has_data;
    const Made report = made(server, 500'000);
    ASSERT_TRUE(report.notes.ok());
    const auto of_values = [](const std::string& note) { return note.find(" with their values: ") != std::string::npos; };
    EXPECT_EQ(std::ranges::count_if(report.notes->left_out, of_values), has_data ? 1 : 0) << testing::PrintToString(report.notes->left_out);
  }
}

TEST(ReportAnswers, FitsIntoLittleRoomAndFailsWithoutAny) {
  FakeServer server;
  server.padding = 1000;
  const Made report = made(server, 150'000);
  ASSERT_TRUE(report.notes.ok());
  EXPECT_FALSE(report.notes->left_out.empty());
  EXPECT_TRUE(report.kept.contains("/api/dump"));
  EmbeddedAnswers none(100);
  const auto failed = add_report_answers([&server](std::string_view target) { return server.get(target); }, "", nullptr, none);
  EXPECT_EQ(failed.status().code(), StatusCode::kExhausted);
}

TEST(ReportAnswers, OfTwoDumpsThePairsAreThereWhenTheComparisonIsReady) {
  FakeServer server;
  server.pairs = 40;
  server.answers_until_ready = 2;
  const Made report = made(server);
  ASSERT_TRUE(report.notes.ok()) << report.notes.status().message();
  EXPECT_EQ(report.kept.at("/api/compare").at("state"), "ready");
  EXPECT_EQ(report.kept.at("/api/pairs?only=differing&sort=error").at("pairs").size(), 40U);
  EXPECT_EQ(report.kept.at("/api/pairs/table").size(), 40U);
  for (const char* target : {"/api/pair/0", "/api/pair/0/slice?of=ulp&at=%3A%2C%3A&rows=0%3A4&cols=0%3A4&reduce=absmax",
                             "/api/heat?dump=b&by=error", "/api/records?dump=b", "/api/record/2?dump=b"}) {
    EXPECT_TRUE(report.kept.contains(target)) << target;
  }
  const auto place = [&server](const std::string& target) {
    return std::find(server.seen.begin(), server.seen.end(), target) - server.seen.begin();
  };
  EXPECT_EQ(place("/api/compare"), 0);
  EXPECT_GT(place("/api/dump"), 2) << "the start page has what the comparison found";
}

TEST(ReportAnswers, WhatTheServerRefusesIsAnError) {
  FakeServer server;
  server.pairs = 1;
  server.failure = "they share nothing";
  const Made report = made(server);
  ASSERT_FALSE(report.notes.ok());
  EXPECT_THAT(report.notes.status().message(), HasSubstr("they share nothing"));
}

TEST(ReportAnswers, FilesThatLinesWereReadFromAreListed) {
  FakeServer server;
  const Made without = made(server);
  ASSERT_TRUE(without.notes.ok());
  EXPECT_EQ(without.notes->sources, std::vector<std::string>());
  server.source = "/home/a/net.py";
  const Made report = made(server);
  ASSERT_TRUE(report.notes.ok());
  EXPECT_EQ(report.notes->sources, std::vector<std::string>{server.source});
  EXPECT_EQ(report.kept.at("/api/dump").at("report").at("sources"), Json({server.source}));
}

}  // namespace
}  // namespace tensortap
