#include "serve/web_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/temporary_folder.h"
#include "query/query_dump.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<WebAnswers> answers() { return WebAnswers::of(ServedDump::of("made", std::make_unique<QueryDump>()), nullptr); }

Json asked(const std::string& target, int status = 200) {
  const Answer answer = answers()->get(target);
  EXPECT_EQ(answer.status, status) << target << "\n" << answer.body;
  EXPECT_EQ(answer.type, "application/json");
  return Json::parse(answer.body);
}

std::vector<size_t> rows_in(const Json& list) {
  std::vector<size_t> rows;
  for (const Json& one : list.at("items")) rows.push_back(one.at("record").get<size_t>());
  return rows;
}

TEST(WebAnswers, TheDumpIsDescribed) {
  const Json answer = asked("/api/dump");
  ASSERT_EQ(answer.at("dumps").size(), 1U);
  const Json& info = answer.at("dumps")[0];
  EXPECT_EQ(info.at("name"), "made");
  EXPECT_EQ(info.at("records"), 8);
  EXPECT_EQ(info.at("ops"), 2);
  EXPECT_EQ(info.at("steps"), Json({0, 1, 2}));
  EXPECT_EQ(info.at("phases"), Json({"inference"}));
  EXPECT_EQ(info.at("has_data"), false);
  EXPECT_TRUE(info.at("find").contains("first_nonfinite"));
  EXPECT_FALSE(answer.at("sentences").empty());
}

// Without a finding.
struct CleanDump : VectorDumpIndex {
  explicit CleanDump(DumpState state) {
    add_op(QueryDump::op("gemm", "Gemm"));
    RecordRow row = QueryDump::record(0, 0, SlotKind::kOutput, 20);
    row.stats.valid |= kStatNonFinite;
    add(row);
    completeness_.state = state;
  }
  [[nodiscard]] Completeness completeness() const override { return completeness_; }

  Completeness completeness_;
};

TEST(WebAnswers, AnAllClearOfAnIncompleteDumpLooksLikeAWarning) {
  const auto clear = [](DumpState state) {
    const auto answers = WebAnswers::of(ServedDump::of("made", std::make_unique<CleanDump>(state)), nullptr);
    const Json answer = Json::parse(answers->get("/api/dump").body);
    for (const Json& one : answer.at("sentences")) {
      if (one.at("text").get<std::string>().find("No NaN") != std::string::npos) return one;
    }
    return Json();
  };
  EXPECT_EQ(clear(DumpState::kComplete).at("kind"), "plain");
  const Json unsure = clear(DumpState::kIncomplete);
  EXPECT_EQ(unsure.at("kind"), "unsure");
  EXPECT_THAT(unsure.at("text"), HasSubstr("In the records that the dump holds: No NaN"));
}

TEST(WebAnswers, WhatIsKnownIsThereBeforeTheRecordsAreLookedThrough) {
  const auto made = answers();
  const Json early = Json::parse(made->get("/api/dump?wait=no").body);
  const Json whole = Json::parse(made->get("/api/dump").body);
  EXPECT_EQ(whole.at("complete"), true);
  EXPECT_EQ(early.at("dumps")[0].at("steps"), whole.at("dumps")[0].at("steps"));
  if (early.at("complete") == false) {
    EXPECT_TRUE(early.at("dumps")[0].at("find").is_null());
    EXPECT_LT(early.at("sentences").size(), whole.at("sentences").size());
  }
  EXPECT_EQ(Json::parse(made->get("/api/dump?wait=no").body), whole);
  EXPECT_THAT(asked("/api/dump?wait=maybe", 400).at("error"), HasSubstr("not one of yes, no"));
}

TEST(WebAnswers, ListsArePages) {
  const Json page = asked("/api/records?where=min%20%3C%200&from=2&limit=3");
  EXPECT_EQ(page.at("total"), 7) << "one record has no statistics";
  EXPECT_EQ(page.at("from"), 2);
  EXPECT_EQ(page.at("limit"), 3);
  EXPECT_THAT(rows_in(page), ElementsAre(2, 3, 4));
  EXPECT_THAT(rows_in(asked("/api/records?from=100")), ElementsAre());
  EXPECT_THAT(rows_in(asked("/api/records?sort=-max&limit=2")), ElementsAre(5, 7));
}

TEST(WebAnswers, AnOpOfDigitsIsItsNumber) {
  EXPECT_THAT(rows_in(asked("/api/records?op=1")), ElementsAre(7));
  EXPECT_THAT(rows_in(asked("/api/records?op=gemm")), ElementsAre(7));
  EXPECT_THAT(rows_in(asked("/api/records?op=0&step=1&slot=out")), ElementsAre(3));
  EXPECT_THAT(asked("/api/records?op=2", 404).at("error"), HasSubstr("op 2"));
}

TEST(WebAnswers, MistakesAreOneSentence) {
  EXPECT_THAT(asked("/api/records?where=maxx%20%3E%200", 400).at("error"), HasSubstr("where: column 1"));
  EXPECT_THAT(asked("/api/records?sort=maxx", 400).at("error"), HasSubstr("Did you mean"));
  EXPECT_THAT(asked("/api/records?dump=c", 400).at("error"), HasSubstr("not one of a, b"));
  EXPECT_THAT(asked("/api/records?dump=b", 404).at("error"), HasSubstr("only one dump"));
  EXPECT_THAT(asked("/api/record/8", 404).at("error"), HasSubstr("record 8"));
  EXPECT_THAT(asked("/api/record/x", 400).at("error"), HasSubstr("not a number"));
  EXPECT_THAT(asked("/api/record/-1", 400).at("error"), HasSubstr("not a number"));
  EXPECT_THAT(asked("/api/../etc/passwd", 404).at("error"), HasSubstr("no such address"));
  EXPECT_THAT(asked("/", 404).at("error"), HasSubstr("no such address"));
}

TEST(WebAnswers, ARecordHasWhatStandsBesideIt) {
  const Json record = asked("/api/record/5");
  EXPECT_EQ(record.at("record"), 5);
  EXPECT_EQ(record.at("op_id"), 0);
  EXPECT_EQ(record.at("op"), "block.conv");
  EXPECT_EQ(record.at("max"), 30.0);
  ASSERT_EQ(record.at("outputs").size(), 2U) << "the output and the element of a list of the same step";
  EXPECT_EQ(record.at("outputs")[0].at("record"), 5);
  EXPECT_EQ(record.at("outputs")[1].at("record"), 6);
  EXPECT_EQ(record.at("source_lines"), nullptr);
}

}  // namespace
}  // namespace tensortap
