#include "convert/nested_slices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace tensortap {
namespace {

// Begin and end of each item; fails where edges go back in time, or slices cut each other.
std::map<uint32_t, std::pair<int64_t, int64_t>> slices_of(const std::vector<SliceEdge>& edges) {
  std::map<uint32_t, std::pair<int64_t, int64_t>> slices;
  std::vector<uint32_t> open;
  int64_t last = INT64_MIN;
  for (const SliceEdge& edge : edges) {
    EXPECT_GE(edge.time, last);
    last = edge.time;
    if (edge.begins) {
      EXPECT_TRUE(slices.emplace(edge.item, std::pair(edge.time, edge.time)).second);
      open.push_back(edge.item);
    } else if (open.empty() || open.back() != edge.item) {
      ADD_FAILURE() << edge.item << " ends while another one is open";
    } else {
      open.pop_back();
      slices[edge.item].second = edge.time;
    }
  }
  EXPECT_TRUE(open.empty());
  return slices;
}

TEST(NestedSlices, WhatNestsStaysAsItIs) {
  const std::vector<TimeSlice> slices = {{0, 10, 0}, {1, 4, 1}, {4, 4, 2}, {4, 10, 3}, {10, 12, 4}, {5, 6, 5}, {10, 12, 6}};
  const auto found = slices_of(nested_edges(slices));
  ASSERT_EQ(found.size(), slices.size());
  for (const TimeSlice& slice : slices) EXPECT_EQ(found.at(slice.item), std::pair(slice.begin, slice.end)) << slice.item;
}

TEST(NestedSlices, OneThatCutsAnotherBeginsWhereThatEnds) {
  const auto found = slices_of(nested_edges(std::vector<TimeSlice>{{0, 5, 0}, {3, 9, 1}, {4, 12, 2}}));
  EXPECT_EQ(found.at(0), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(found.at(1).second, 9);
  EXPECT_EQ(found.at(2), std::pair(int64_t{5}, int64_t{12}));
}

TEST(NestedSlices, AnySlicesNestInTheEnd) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<TimeSlice> slices;
    for (uint32_t item = 0; item < 60; ++item) {
      const auto begin = static_cast<int64_t>(random() % 50);
      slices.push_back({begin, begin + static_cast<int64_t>(random() % 20), item});
    }
    const auto found = slices_of(nested_edges(slices));
    ASSERT_EQ(found.size(), slices.size());
    for (const TimeSlice& slice : slices) {
      EXPECT_GE(found.at(slice.item).first, slice.begin);
      EXPECT_LE(found.at(slice.item).second, slice.end);
    }
  }
}

TEST(NestedSlices, NoSlicesHaveNoEdges) { EXPECT_TRUE(nested_edges({}).empty()); }

}  // namespace
}  // namespace tensortap
