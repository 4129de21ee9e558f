#include "graph/graph_drawing.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

OpInfo named_op(std::string name, std::vector<OpId> makers) {
  OpInfo op;
  op.name = std::move(name);
  op.type = "Add";
  for (const OpId maker : makers) op.inputs.push_back({concat("value", maker), maker, 0});
  return op;
}

TEST(GraphDrawingTest, AChainOfTwoGroups) {
  VectorDumpIndex dump;
  dump.add_op(named_op("/a/x", {}));
  dump.add_op(named_op("/a/y", {0}));
  dump.add_op(named_op("/b/z", {1}));
  const GraphModel model(dump);
  const GraphDrawing closed = draw(model, {GraphRequest::Open::kListed, {}, {}});
  ASSERT_EQ(closed.nodes.size(), 2U);
  ASSERT_EQ(closed.edges.size(), 1U);
  EXPECT_EQ(closed.nodes[0].path, "/a");
  EXPECT_EQ(closed.nodes[0].ops, 2U);
  const GraphDrawing all = draw(model, {GraphRequest::Open::kAll, {}, {}});
  ASSERT_EQ(all.nodes.size(), 5U);
  EXPECT_EQ(all.edges.size(), 2U);
}

}  // namespace
}  // namespace tensortap
