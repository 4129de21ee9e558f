#include "serve/pair_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// a -> b -> c -> d; in the first dump b adds an error, which c and d inherit; e is equal.
std::unique_ptr<MadeDump> chain(float error, bool has_nan = false) {
  auto dump = std::make_unique<MadeDump>();
  const OpId a = dump->op("a", "Add");
  const OpId b = dump->op("b", "Mul", {a});
  const OpId c = dump->op("c", "Exp", {b});
  const OpId d = dump->op("d", "Log", {c});
  dump->op("e", "Neg");
  const std::vector<float> values = {1, 2, 3, 4};
  dump->gives(a, values, Shape({2, 2}));
  std::vector<float> moved = values;
  moved[3] += error;
  dump->gives(b, moved, Shape({2, 2}));
  dump->gives(c, moved, Shape({2, 2}));
  dump->gives(d, moved, Shape({2, 2}));
  std::vector<float> last = numbers(4, 9);
  if (has_nan) last[2] = std::numeric_limits<float>::quiet_NaN();
  dump->gives(4, last, Shape({2, 2}));
  return dump;
}

class PairAnswers : public testing::Test {
 protected:
  void SetUp() override {
    comparison_ = std::make_unique<ServedComparison>(a_, b_, ComparisonOptions{});
    while (comparison_->state_json().at("state") == "running") std::this_thread::yield();
    ASSERT_TRUE(comparison_->pairs().ok()) << comparison_->pairs().status().message();
  }

  using Handler = Result<Answer> (*)(const AskedDump& asked, const std::string& number);
  [[nodiscard]] Result<Answer> get(Handler handler, const std::string& target, const std::string& number = "", bool is_b = false) const {
    const auto request = WebRequest::parse(target);
    EXPECT_TRUE(request.ok()) << target;
    return handler({is_b ? *b_ : *a_, *request, is_b, comparison_.get()}, number);
  }
  [[nodiscard]] Json json(Handler handler, const std::string& target, const std::string& number = "") const {
    const auto answer = get(handler, target, number);
    EXPECT_TRUE(answer.ok()) << target << answer.status().message();
    return answer.ok() ? Json::parse(answer->body) : Json();
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& query) const {
    std::vector<std::string> found;
    const Json list = json(pairs, "/api/pairs?" + query);
    for (const Json& one : list.at("items")) found.push_back(one.at("a"));
    return found;
  }
  [[nodiscard]] std::vector<float> slice(const std::string& of) const {
    const auto answer = get(pair_slice_answer, "/api/pair/1/slice?at=%3A%2C%3A&of=" + of, "1");
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    if (!answer.ok()) return {};
    std::vector<float> values((answer->body.size() - 40) / sizeof(float));
    std::memcpy(values.data(), answer->body.data() + 40, values.size() * sizeof(float));
    return values;
  }
  static Result<Answer> pairs(const AskedDump& asked, const std::string&) { return pairs_answer(asked); }
  static Result<Answer> compare(const AskedDump& asked, const std::string&) { return compare_answer(asked); }
  static Result<Answer> unpaired(const AskedDump& asked, const std::string&) { return unpaired_answer(asked); }

  ServedComparison::Dump a_ = ServedDump::of("a", chain(1));
  ServedComparison::Dump b_ = ServedDump::of("b", chain(0));
  std::unique_ptr<ServedComparison> comparison_;
};

TEST_F(PairAnswers, ListsAreThoseOfCompare) {
  EXPECT_THAT(names("sort=order"), ElementsAre("a:out0", "b:out0", "c:out0", "d:out0", "e:out0"));
  EXPECT_THAT(names("only=differing&sort=order"), ElementsAre("b:out0", "c:out0", "d:out0"));
  EXPECT_THAT(names("only=first&sort=order"), ElementsAre("b:out0"));
  EXPECT_THAT(names("sort=own&limit=1"), ElementsAre("b:out0"));
  const Json page = json(pairs, "/api/pairs?sort=order&from=3&limit=1");
  EXPECT_EQ(page.at("total"), 5);
  EXPECT_EQ(page.at("items").size(), 1U);
  EXPECT_EQ(page.at("items")[0].at("pair"), 3);
  const Json state = json(compare, "/api/compare");
  EXPECT_EQ(state.at("state"), "ready");
  EXPECT_EQ(state.at("summary").at("records"), 5);
  EXPECT_EQ(json(unpaired, "/api/unpaired?of=b").at("total"), 0);
}

TEST_F(PairAnswers, AnOpHasItsPairs) {
  EXPECT_THAT(names("op=2&step=0"), ElementsAre("c:out0"));
  EXPECT_THAT(names("op=2"), ElementsAre("c:out0"));
  EXPECT_THAT(names("op=2&step=7"), ElementsAre());
  EXPECT_FALSE(get(pairs, "/api/pairs?op=99").ok());
  EXPECT_FALSE(get(pairs, "/api/pairs?op=2&sort=own").ok());
}

TEST_F(PairAnswers, APairHasItsRecordsAndItsDifference) {
  const Json pair = json(pair_answer, "/api/pair/1", "1");
  EXPECT_EQ(pair.at("record_a"), 1);
  EXPECT_EQ(pair.at("op_b"), 1);
  EXPECT_EQ(pair.at("verdict"), "different");
  EXPECT_EQ(pair.at("birth"), "born");
  EXPECT_EQ(pair.at("max_abs"), 1);
  EXPECT_THAT(slice("difference"), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(slice("a"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(slice("b"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(slice("ulp"), ElementsAre(0, 0, 0, 2097152)) << "from 4 to 8 there are 2^23 numbers";
  EXPECT_EQ(json(pair_find_answer, "/api/pair/1/find?of=difference&what=difference", "1").at("index"), Json({1, 1}));
}

TEST_F(PairAnswers, ThePartsOfAPairAreExact) {
  const auto exact = [this](const std::string& of) {
    const auto answer = get(pair_exact_answer, "/api/pair/1/exact?at=%3A%2C%3A&of=" + of, "1");
    return answer.ok() ? std::string(answer->body.c_str() + 16) : answer.status().message();
  };
  EXPECT_EQ(exact("a"), "<f4");
  EXPECT_EQ(exact("difference"), "<f8") << "a difference of doubles is no float";
  EXPECT_THAT(exact("c"), HasSubstr("difference"));
}

TEST_F(PairAnswers, PlacesOfAPairAreOfItsSideOrItsDifference) {
  const auto places = [this](const std::string& query, const std::string& number) {
    return json(pair_places_answer, "/api/pair/" + number + "/places?" + query, number).at("places");
  };
  EXPECT_EQ(places("of=a", "1"), Json::parse("[[], []]"));
  EXPECT_EQ(places("of=difference", "1"), Json::parse("[[], []]"));
  a_ = ServedDump::of("a", chain(0, true));
  SetUp();
  EXPECT_EQ(places("of=a", "4"), Json::parse("[[1], [0]]"));
  EXPECT_EQ(places("of=b", "4"), Json::parse("[[], []]"));
  EXPECT_EQ(places("of=difference", "4"), Json::parse("[[1], [0]]"));
  for (const auto& [query, number] : std::vector<std::pair<std::string, std::string>>{
           {"of=c", "1"}, {"of=a&what=x", "1"}, {"of=a", "99"}, {"of=a", "-1"}, {"of=a", "x"}, {"of=a", "99999999999999999999"}}) {
    const auto answer = get(pair_places_answer, "/api/pair/1/places?" + query, number);
    EXPECT_FALSE(answer.ok()) << query << " " << number;
    EXPECT_THAT(answer.ok() ? std::string() : answer.status().message(), testing::Not(testing::IsEmpty()));
  }
  comparison_.reset();
  EXPECT_EQ(get(pair_places_answer, "/api/pair/1/places?of=a", "1").status().code(), StatusCode::kNotFound);
}

TEST_F(PairAnswers, TheWayOfAnErrorBeginsWhereItIsBorn) {
  const auto request = WebRequest::parse("/api/flow");
  EXPECT_THAT(way_of_error({*a_, *request, false, comparison_.get()}, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(way_of_error({*b_, *request, true, comparison_.get()}, 2), ElementsAre(1, 2));
  EXPECT_THAT(way_of_error({*a_, *request, false, comparison_.get()}, 0), ElementsAre());
  EXPECT_THAT(way_of_error({*a_, *request, false, nullptr}, 3), ElementsAre());
}

TEST_F(PairAnswers, OpsHaveTheErrorOfTheirOutputs) {
  const auto request = WebRequest::parse("/api/heat");
  const AskedDump asked{*a_, *request, false, comparison_.get()};
  const auto error = error_heat(asked, false, std::nullopt);
  ASSERT_TRUE(error.ok());
  const double relative = 1 / std::sqrt(30.0);  // of (1, 2, 3, 4)
  EXPECT_NEAR(error->at(3), relative, 1e-6);
  EXPECT_EQ(error->at(4), 0);
  const auto own = error_heat(asked, true, 0);
  ASSERT_TRUE(own.ok());
  EXPECT_NEAR(own->at(1), relative, 1e-6);
  EXPECT_TRUE(std::isnan(own->at(2)));
  EXPECT_TRUE(std::isnan(error_heat(asked, false, 7)->at(1))) << "there is no step 7";
}

TEST_F(PairAnswers, SentencesNameTheOpThatTheErrorIsBornIn) {
  const Json sentences = comparison_sentences(*comparison_);
  std::string all;
  for (const Json& one : sentences) all += concat(one.at("kind").get<std::string>(), "|", one.at("text").get<std::string>(), "\n");
  EXPECT_THAT(all, HasSubstr("parted|The programs part in b:out0 (Mul): relative L2 0.183, its inputs are equal."));
  EXPECT_THAT(all, HasSubstr("born|b:out0 (Mul): error 0.18"));
  EXPECT_THAT(all, HasSubstr("5 of 5 values of A have a partner in B; their records: 2 equal, 3 different."));
  EXPECT_EQ(sentences[0].at("link"), "#graph?op=1&heat=error&flow=1&way=error");
}

TEST_F(PairAnswers, WhatIsWrongIsSaid) {
  EXPECT_THAT(get(pair_answer, "/api/pair/9", "9").status().message(), HasSubstr("there are 5"));
  EXPECT_THAT(get(pair_answer, "/api/pair/x", "x").status().message(), HasSubstr("not a number"));
  EXPECT_FALSE(get(pairs, "/api/pairs?sort=name").ok());
  EXPECT_FALSE(get(pairs, "/api/pairs?other=1").ok());
  EXPECT_FALSE(get(pair_slice_answer, "/api/pair/1/slice?of=c", "1").ok());
  comparison_.reset();
  EXPECT_EQ(get(pairs, "/api/pairs").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(get(compare, "/api/compare").status().code(), StatusCode::kNotFound);
}

TEST(ServedComparison, DumpsThatShareNothingAreAFailure) {
  auto other = std::make_unique<MadeDump>();
  other->gives(other->op("z", "Conv"), numbers(7, 3));
  const ServedComparison comparison(ServedDump::of("a", chain(0)), ServedDump::of("b", std::move(other)), ComparisonOptions{});
  while (comparison.state_json().at("state") == "running") std::this_thread::yield();
  EXPECT_EQ(comparison.state_json().at("state"), "failed");
  EXPECT_FALSE(comparison.state_json().at("error").get<std::string>().empty());
  EXPECT_FALSE(comparison.pairs().ok());
  EXPECT_EQ(comparison_sentences(comparison).size(), 1U);
}

TEST(ServedComparison, OneThatWasMadeBeforeIsReadyAtOnce) {
  const auto a = ServedDump::of("a", chain(1));
  const auto b = ServedDump::of("b", chain(0));
  auto pairs = std::make_unique<ComparedPairs>(*DumpComparison::make(a->index(), b->index(), {}));
  size_t seen = 0;
  pairs->run([&seen](const ComparedValue& value) { seen += value.data.has_value() ? 1 : 0; });
  EXPECT_EQ(seen, 5U);
  const ServedComparison comparison(a, b, std::move(pairs));
  const Json state = comparison.state_json();
  EXPECT_EQ(state.at("state"), "ready");
  EXPECT_EQ(state.at("summary").at("born").size(), 1U);
  ASSERT_TRUE(comparison.pairs().ok());
  EXPECT_EQ((*comparison.pairs())->list(PairsOnly::kDiffering, PairsSort::kOrder).size(), 3U);
}

TEST(ServedComparison, AnUnfinishedOneEndsWithItsOwner) {
  const ServedComparison comparison(ServedDump::of("a", chain(0)), ServedDump::of("b", chain(1)), ComparisonOptions{});
}

}  // namespace
}  // namespace tensortap
