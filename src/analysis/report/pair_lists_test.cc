#include "report/pair_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace tensortap {
namespace {

using testing::ElementsAre;

Json pairs(std::initializer_list<unsigned> numbers) {
  Json items = Json::array();
  for (const unsigned number : numbers) {
    items.push_back({{"pair", number}, {"a", "op" + std::to_string(number)}, {"ulp_histogram", std::string(1000, 'u')}});
  }
  return items;
}

TEST(PairLists, APairOfSeveralListsIsThereOnce) {
  PairLists lists(10'000);
  lists.add("/api/pairs?sort=own", pairs({3, 1}));
  lists.add("/api/pairs?sort=error", pairs({1, 2, 3}));
  lists.add("/api/pairs?sort=order", Json::array());
  EXPECT_THAT(lists.first(10), ElementsAre(3, 1, 2));
  EXPECT_THAT(lists.first(1), ElementsAre(3));
  EXPECT_EQ(lists.left_out(), 0U);
  EmbeddedAnswers answers(10'000);
  ASSERT_TRUE(lists.keep(answers));
  const Json kept = Json::parse(answers.text());
  EXPECT_EQ(kept.at("/api/pairs?sort=own"), Json({{"pairs", {3, 1}}}));
  EXPECT_EQ(kept.at("/api/pairs?sort=order").at("pairs"), Json::array());
  EXPECT_EQ(kept.at("/api/pairs/table").size(), 3U);
  EXPECT_EQ(kept.at("/api/pairs/table").at("2"), Json({{"pair", 2}, {"a", "op2"}}));
}

TEST(PairLists, WhatHasNoRoomIsLeftOutAndCounted) {
  PairLists lists(50);  // two of them
  lists.add("/api/pairs?sort=own", pairs({5, 6, 7}));
  lists.add("/api/pairs?sort=error", pairs({7, 6}));
  EXPECT_EQ(lists.left_out(), 2U);
  EmbeddedAnswers answers(10'000);
  ASSERT_TRUE(lists.keep(answers));
  EXPECT_EQ(Json::parse(answers.text()).at("/api/pairs?sort=error").at("pairs"), Json({6}));
  EmbeddedAnswers small(20);
  EXPECT_FALSE(lists.keep(small));
}

}  // namespace
}  // namespace tensortap
