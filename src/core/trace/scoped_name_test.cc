#include "trace/scoped_name.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

OpInfo op_named(std::string name, std::string type) {
  OpInfo op;
  op.name = std::move(name);
  op.type = std::move(type);
  return op;
}

TEST(ScopedName, HoldsScopeTypeAndNumber) {
  EXPECT_EQ(scoped_op_name(op_named("encoder/MatMul_1", "MatMul"), 12), "Default/encoder/MatMul_1/MatMul-op12");
  EXPECT_EQ(scoped_op_name(op_named("//encoder//add/", "Add"), 0), "Default/encoder/add/Add-op0");
  EXPECT_EQ(scoped_op_name(op_named("", "Add"), 3), "Default/Add-op3");
}

TEST(ScopedName, ModulesAreScopesAndOtherCharactersAreReplaced) {
  EXPECT_EQ(scoped_op_name(op_named("Net.blocks.0.attn/addmm", "addmm"), 9), "Default/Net/blocks/0/attn/addmm/addmm-op9");
  EXPECT_EQ(scoped_op_name(op_named("Net#1/a-b (c):0", "ns::Op.v2"), 1), "Default/Net_1/a-b__c__0/ns__Op_v2-op1");
  EXPECT_EQ(scoped_op_name(op_named("/h\xc3\xa9/\xff", ""), 2), "Default/h_/_/_-op2");
}

TEST(ScopedName, PseudoOpsKeepTheirNamesAndTakeNoNumber) {
  ScopedNames names;
  EXPECT_EQ(names.add(op_named("/x/y", "Input")), "/x/y");
  EXPECT_EQ(names.add(op_named("a", "Add")), "Default/a/Add-op0");
  EXPECT_EQ(names.add(op_named("w", "Initializer")), "w");
  EXPECT_EQ(names.add(op_named("b", "Mul")), "Default/b/Mul-op1");
}

TEST(ScopedName, TypeIsBetweenTheLastSlashAndTheLastDash) {
  EXPECT_EQ(scoped_name_type("Default/net-Net/Conv2D-op1"), "Conv2D");
  EXPECT_EQ(scoped_name_type("data-1"), "data");
  EXPECT_EQ(scoped_name_type("conv1.weight"), "conv1.weight");
  EXPECT_EQ(scoped_name_type(""), "");
}

}  // namespace
}  // namespace tensortap
