#include "compare/op_kinds.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(OpKinds, AKindStaysWhereItIsWhenOthersAreFound) {
  OpKinds kinds;
  OpInfo op;
  op.type = "Softmax";
  const OpKind& first = kinds.of(0, op);
  op.type = "Relu";
  for (OpId id = 1; id < 1000; ++id) EXPECT_FALSE(kinds.of(id, op).is_softmax);
  EXPECT_TRUE(first.is_softmax);
  EXPECT_EQ(&first, &kinds.of(0, op));
}

}  // namespace
}  // namespace tensortap
