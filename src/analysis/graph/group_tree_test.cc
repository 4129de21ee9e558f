#include "graph/group_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tensortap {
namespace {

std::vector<uint32_t> way_up(const GroupTree& tree, uint32_t group) {
  std::vector<uint32_t> way = {group};
  while (way.back() != 0) way.push_back(tree.parent(way.back()));
  return way;
}

RC_GTEST_PROP(GroupTreeTest, FindsWhatASlowWalkFinds, ()) {
  GroupTree tree;
  const auto deep = *rc::gen::arbitrary<bool>();
  const auto count = *rc::gen::inRange<uint32_t>(0, 60);
  for (uint32_t group = 1; group <= count; ++group) {
    tree.add(deep ? group - 1 - *rc::gen::inRange<uint32_t>(0, std::min(group, 3U)) : *rc::gen::inRange<uint32_t>(0, group));
  }
  for (uint32_t left = 0; left < tree.size(); ++left) {
    const std::vector<uint32_t> up = way_up(tree, left);
    RC_ASSERT(tree.depth(left) + 1 == up.size());
    for (const uint32_t above : up) RC_ASSERT(tree.ancestor(left, tree.depth(above)) == above);
    for (uint32_t right = 0; right < tree.size(); ++right) {
      const std::vector<uint32_t> other = way_up(tree, right);
      RC_ASSERT(tree.common(left, right) == *std::ranges::find_first_of(up, other));
    }
  }
}

}  // namespace
}  // namespace tensortap
