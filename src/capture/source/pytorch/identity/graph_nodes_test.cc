#include "source/pytorch/identity/graph_nodes.h"

#include <gtest/gtest.h>

#include <memory>

namespace tensortap::pytorch {
namespace {

GraphNode node_of(const char* op, uint32_t forward = 0) {
  GraphNode node;
  node.op = op;
  node.forward = forward;
  return node;
}

class NodesOfGraphs : public testing::Test {
 protected:
  std::unique_ptr<GraphNodes> nodes_ = std::make_unique<GraphNodes>();
};

TEST_F(NodesOfGraphs, AreFoundByNumbersFromOne) {
  EXPECT_EQ(nodes_->node(0), nullptr);
  EXPECT_EQ(nodes_->node(1), nullptr);
  EXPECT_EQ(nodes_->add_node(node_of("aten::sin"), 7, 0, false), 1U);
  EXPECT_EQ(nodes_->add_node(node_of("aten::cos", 1), 8, 3, true), 2U);
  ASSERT_NE(nodes_->node(2), nullptr);
  EXPECT_EQ(nodes_->node(2)->told.op, "aten::cos");
  EXPECT_EQ(nodes_->node(2)->op, 8U);
  EXPECT_EQ(nodes_->node(2)->scope, 3U);
  EXPECT_TRUE(nodes_->node(2)->updates);
  EXPECT_EQ(nodes_->node(2)->forward, nodes_->node(1));
  EXPECT_EQ(nodes_->node(1)->forward, nullptr);
  EXPECT_EQ(nodes_->node(UINT32_MAX), nullptr);
}

TEST_F(NodesOfGraphs, HaveSitesFromZero) {
  nodes_->add_node(node_of("aten::sin"), 0, 0, false);
  EXPECT_EQ(nodes_->site(0), nullptr);
  EXPECT_EQ(nodes_->add_site({1, 2, kDumpFailed}, {{4, 1, 0, -1, kSlotChanged}}), 0);
  EXPECT_EQ(nodes_->add_site({1, 1, 0}, {}), 1);
  ASSERT_NE(nodes_->site(0), nullptr);
  EXPECT_EQ(nodes_->site(0)->node, nodes_->node(1));
  EXPECT_EQ(nodes_->site(0)->role.phase, 2U);
  ASSERT_EQ(nodes_->site(0)->slots.size(), 1U);
  EXPECT_EQ(nodes_->site(0)->slots[0].tensor, 4U);
}

// Compiled code of another process may come with any number.
TEST_F(NodesOfGraphs, AreNotFoundByForeignNumbers) {
  EXPECT_EQ(nodes_->add_site({1, 0, 0}, {}), -1);
  EXPECT_EQ(nodes_->add_site({0, 0, 0}, {}), -1);
  for (const int64_t number : {int64_t{-1}, int64_t{5}, INT64_MAX, INT64_MIN}) EXPECT_EQ(nodes_->site(number), nullptr);
}

}  // namespace
}  // namespace tensortap::pytorch
