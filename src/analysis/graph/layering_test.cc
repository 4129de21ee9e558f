#include "graph/layering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tensortap {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<UnitEdge> edges_of(const std::set<std::pair<uint32_t, uint32_t>>& pairs) {
  std::vector<UnitEdge> edges;
  for (const auto& [from, to] : pairs) edges.push_back({from, to, 1, false});
  return edges;
}

std::set<std::pair<uint32_t, uint32_t>> random_pairs(uint32_t units) {
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  const auto count = *rc::gen::inRange<uint32_t>(0, 2 * units);
  for (uint32_t i = 0; i < count; ++i) {
    const auto from = *rc::gen::inRange<uint32_t>(0, units);
    const auto to = *rc::gen::inRange<uint32_t>(0, units);
    if (from != to) pairs.emplace(from, to);
  }
  return pairs;
}

// Whether something can be reached from itself along edges that are not marked.
bool has_cycle(uint32_t units, const std::vector<UnitEdge>& edges) {
  std::vector<std::vector<bool>> reaches(units, std::vector<bool>(units));
  for (const UnitEdge& edge : edges) {
    if (!edge.back) reaches[edge.from][edge.to] = true;
  }
  for (uint32_t by = 0; by < units; ++by) {
    for (uint32_t from = 0; from < units; ++from) {
      for (uint32_t to = 0; to < units; ++to) reaches[from][to] = reaches[from][to] || (reaches[from][by] && reaches[by][to]);
    }
  }
  for (uint32_t unit = 0; unit < units; ++unit) {
    if (reaches[unit][unit]) return true;
  }
  return false;
}

RC_GTEST_PROP(LayeringTest, WithoutTheMarkedEdgesThereIsNoCycle, ()) {
  const auto units = *rc::gen::inRange<uint32_t>(1, 25);
  std::vector<UnitEdge> edges = edges_of(random_pairs(units));
  const bool had_cycle = has_cycle(units, edges);
  mark_back_edges(units, edges);
  RC_ASSERT(!has_cycle(units, edges));
  RC_ASSERT(std::ranges::any_of(edges, &UnitEdge::back) == had_cycle);
}

RC_GTEST_PROP(LayeringTest, EdgesLeadDownAndLayersAreNotMoreThanTheLongestWay, ()) {
  const auto units = *rc::gen::inRange<uint32_t>(1, 25);
  std::vector<UnitEdge> edges = edges_of(random_pairs(units));
  mark_back_edges(units, edges);
  const std::vector<uint32_t> layers = layers_of(units, edges);
  const std::set<uint32_t> used(layers.begin(), layers.end());
  RC_ASSERT(*used.rbegin() + 1 == used.size());
  for (const UnitEdge& edge : edges) RC_ASSERT(layers[edge.upper()] < layers[edge.lower()]);

  std::vector<uint32_t> longest(units, 1);  // ops on the longest way that ends at each
  for (uint32_t round = 0; round < units; ++round) {
    for (const UnitEdge& edge : edges) longest[edge.lower()] = std::max(longest[edge.lower()], longest[edge.upper()] + 1);
  }
  std::set<uint32_t> with_edges;
  for (const UnitEdge& edge : edges) with_edges.insert({edge.from, edge.to});
  if (with_edges.size() == units) RC_ASSERT(used.size() == *std::ranges::max_element(longest));
  for (const UnitEdge& edge : edges) RC_ASSERT(layers[edge.lower()] + 1 >= longest[edge.lower()]);
}

TEST(LayeringTest, WeightsAreAboveTheirReader) {
  // 0 -> 1 -> 2 -> 3, and a weight 4 that 3 reads.
  std::vector<UnitEdge> edges = {{0, 1, 1, false}, {1, 2, 1, false}, {2, 3, 1, false}, {4, 3, 1, false}};
  EXPECT_THAT(layers_of(5, edges), ElementsAre(0, 1, 2, 3, 2));
}

TEST(LayeringTest, UnitsWithoutEdgesAreInTheOrderInWhichTheyRun) {
  EXPECT_THAT(layers_of(3, {}), ElementsAre(0, 1, 2));
  const std::vector<uint32_t> many = layers_of(100, {});
  EXPECT_TRUE(std::ranges::is_sorted(many));
  for (uint32_t layer = 0; layer < 10; ++layer) EXPECT_EQ(std::ranges::count(many, layer), 10);
  EXPECT_THAT(layers_of(0, {}), ElementsAre());
}

TEST(LayeringTest, OfACycleTheEdgeBackToItsBeginningIsMarked) {
  std::vector<UnitEdge> edges = {{0, 1, 1, false}, {1, 2, 1, false}, {2, 0, 1, false}};
  mark_back_edges(3, edges);
  EXPECT_EQ(edges[2].back, true);
  EXPECT_THAT(layers_of(3, edges), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace tensortap
