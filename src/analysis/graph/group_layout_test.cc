#include "graph/group_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "graph/layer_order.h"

namespace tensortap {
namespace {

GroupContents contents_of(size_t units, std::span<const UnitEdge> edges) {
  GroupContents contents;
  contents.edges = edges;
  contents.widths.assign(units, 100);
  contents.enters.assign(units, false);
  contents.leaves.assign(units, false);
  return contents;
}

float middle(const GroupLayout& layout, uint32_t item) { return layout.left[item] + layout.width[item] / 2; }

size_t crossings(const LayerGraph& graph) {
  size_t count = 0;
  std::vector<size_t> position(graph.layer.size());
  for (uint32_t layer = 0; layer < graph.layer_count(); ++layer) {
    for (size_t at = 0; at < graph.layers.of(layer).size(); ++at) position[graph.layers.of(layer)[at]] = at;
  }
  for (uint32_t one = 0; one < graph.layer.size(); ++one) {
    for (uint32_t other = 0; other < graph.layer.size(); ++other) {
      if (graph.layer[one] != graph.layer[other] || position[one] >= position[other]) continue;
      for (const uint32_t below_one : graph.below.of(one)) {
        for (const uint32_t below_other : graph.below.of(other)) count += position[below_one] > position[below_other] ? 1 : 0;
      }
    }
  }
  return count;
}

TEST(GroupLayoutTest, AChainIsStraight) {
  const std::vector<UnitEdge> edges = {{0, 1, 1, false}, {1, 2, 1, false}, {2, 3, 1, false}};
  GroupContents contents = contents_of(4, edges);
  contents.widths = {64, 200, 90, 110};
  const GroupLayout layout = lay_out(contents);
  for (uint32_t unit = 1; unit < 4; ++unit) EXPECT_EQ(middle(layout, unit), middle(layout, 0));
}

TEST(GroupLayoutTest, ChainsBesideEachOtherAreStraight) {
  const std::vector<UnitEdge> edges = {{0, 2, 1, false}, {1, 3, 1, false}, {2, 4, 1, false},
                                       {3, 5, 1, false}, {4, 6, 1, false}, {5, 7, 1, false}};
  GroupContents contents = contents_of(8, edges);
  contents.widths = {64, 100, 240, 64, 90, 210, 64, 80};
  const GroupLayout layout = lay_out(contents);
  for (uint32_t unit = 2; unit < 8; ++unit) EXPECT_EQ(middle(layout, unit), middle(layout, unit % 2));
}

TEST(GroupLayoutTest, WhatForksIsInTheMiddle) {
  // 0 reads into 1, 2, 3, which 4 reads.
  const std::vector<UnitEdge> edges = {{0, 1, 1, false}, {0, 2, 1, false}, {0, 3, 1, false},
                                       {1, 4, 1, false}, {2, 4, 1, false}, {3, 4, 1, false}};
  const GroupLayout layout = lay_out(contents_of(5, edges));
  std::vector<float> middles = {middle(layout, 1), middle(layout, 2), middle(layout, 3)};
  std::ranges::sort(middles);
  EXPECT_EQ(middle(layout, 0), middles[1]);
  EXPECT_EQ(middle(layout, 4), middles[1]);
  EXPECT_EQ(middles[1] - middles[0], 100 + kUnitGap);
  EXPECT_EQ(middles[2] - middles[1], 100 + kUnitGap);
}

TEST(GroupLayoutTest, ALongLineIsStraightBesideWhatItPasses) {
  std::vector<UnitEdge> edges;
  for (uint32_t unit = 0; unit < 9; ++unit) edges.push_back({unit, unit + 1, 1, false});
  edges.insert(edges.begin() + 1, {0, 9, 1, false});
  const GroupLayout layout = lay_out(contents_of(10, edges));
  ASSERT_EQ(layout.graph.down[0].count, 8U);
  for (uint32_t bend = 0; bend < 8; ++bend) {
    const uint32_t item = layout.graph.down[0].first + bend;
    EXPECT_EQ(layout.left[item], layout.left[layout.graph.down[0].first]);
    EXPECT_TRUE(layout.left[item] >= layout.left[1] + 100 + kLineGap || layout.left[item] + kLineGap <= layout.left[1]);
  }
}

TEST(GroupLayoutTest, ATreeIsDrawnWithoutCrossings) {
  // A binary tree of which the leaves are in no good order.
  std::vector<UnitEdge> edges;
  std::vector<uint32_t> names(31);
  std::iota(names.begin(), names.end(), 0U);
  for (size_t i = 1; i < names.size(); ++i) std::swap(names[i], names[1 + (i * 7) % 30]);
  for (uint32_t unit = 0; unit < 15; ++unit) {
    for (const uint32_t below : {2 * unit + 1, 2 * unit + 2}) edges.push_back({names[unit], names[below], 1, false});
  }
  std::ranges::sort(edges, {}, [](const UnitEdge& edge) { return std::pair(edge.from, edge.to); });
  LayerGraph graph = make_layer_graph(contents_of(31, edges));
  EXPECT_GT(crossings(graph), 0U);
  order_layers(graph);
  EXPECT_EQ(crossings(graph), 0U);
}

TEST(GroupLayoutTest, LinesFromOutsideHaveTheirWay) {
  const std::vector<UnitEdge> edges = {{0, 1, 1, false}, {1, 2, 1, false}};
  GroupContents contents = contents_of(3, edges);
  contents.enters[2] = true;
  contents.leaves[0] = true;
  contents.enters[0] = true;  // at the edge already
  const GroupLayout layout = lay_out(contents);
  EXPECT_EQ(layout.graph.up[2].count, 2U);
  EXPECT_EQ(layout.graph.layer[layout.graph.up[2].first], 0U);
  EXPECT_EQ(layout.graph.down[0].count, 2U);
  EXPECT_EQ(layout.graph.layer[layout.graph.down[0].first], 1U);
  EXPECT_EQ(layout.graph.up[0].count, 0U);
}

// Every op of a long chain reads every earlier one: n^2 / 2 edges, of n / 3 layers each.
TEST(GroupLayoutTest, BendsAreFew) {
  constexpr uint32_t kUnits = 1500;
  std::vector<UnitEdge> edges;
  for (uint32_t from = 0; from < kUnits; ++from) {
    for (uint32_t to = from + 1; to < kUnits; ++to) edges.push_back({from, to, 1, false});
  }
  const GroupLayout layout = lay_out(contents_of(kUnits, edges));
  EXPECT_LT(layout.graph.layer.size(), 6U * kUnits);
  EXPECT_EQ(layout.graph.layer_count(), kUnits);
}

RC_GTEST_PROP(GroupLayoutTest, NeighboursKeepTheirDistanceAndLinesAreLinkedFromLayerToLayer, ()) {
  const auto units = *rc::gen::inRange<uint32_t>(1, 40);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t i = *rc::gen::inRange<uint32_t>(0, 80); i > 0; --i) {
    const auto from = *rc::gen::inRange<uint32_t>(0, units);
    const auto to = *rc::gen::inRange<uint32_t>(0, units);
    if (from != to) pairs.emplace(from, to);
  }
  std::vector<UnitEdge> edges;
  for (const auto& [from, to] : pairs) edges.push_back({from, to, 1, false});
  mark_back_edges(units, edges);
  GroupContents contents = contents_of(units, edges);
  for (uint32_t unit = 0; unit < units; ++unit) {
    contents.widths[unit] = static_cast<float>(*rc::gen::inRange(60, 240));
    contents.enters[unit] = *rc::gen::arbitrary<bool>();
    contents.leaves[unit] = *rc::gen::arbitrary<bool>();
  }
  const GroupLayout layout = lay_out(contents);
  float leftmost = INFINITY;
  for (uint32_t layer = 0; layer < layout.graph.layer_count(); ++layer) {
    const std::span<const uint32_t> items = layout.graph.layers.of(layer);
    for (size_t at = 0; at < items.size(); ++at) {
      leftmost = std::min(leftmost, layout.left[items[at]]);
      RC_ASSERT(layout.graph.layer[items[at]] == layer);
      if (at == 0) continue;
      const bool lines = items[at] >= units || items[at - 1] >= units;
      RC_ASSERT(layout.left[items[at]] >= layout.left[items[at - 1]] + layout.width[items[at - 1]] + (lines ? kLineGap : kUnitGap));
    }
  }
  RC_ASSERT(leftmost == 0.0F);
  for (uint32_t item = 0; item < layout.graph.layer.size(); ++item) {
    for (const uint32_t below : layout.graph.below.of(item)) RC_ASSERT(layout.graph.layer[below] == layout.graph.layer[item] + 1);
  }
}

}  // namespace
}  // namespace tensortap
