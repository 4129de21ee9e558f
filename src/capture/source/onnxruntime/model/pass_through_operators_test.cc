#include "source/onnxruntime/model/pass_through_operators.h"

#include <gtest/gtest.h>

namespace tensortap::onnxruntime {
namespace {

Node node_of(std::string_view type, std::string_view domain = "", size_t inputs = 1) {
  Node node;
  node.type = type;
  node.domain = domain;
  node.inputs.assign(inputs, "x");
  return node;
}

TEST(MovingOperators, MakeNoValues) {
  EXPECT_TRUE(makes_no_values(node_of("Reshape")));
  EXPECT_TRUE(makes_no_values(node_of("Relu", "ai.onnx")));
  EXPECT_TRUE(makes_no_values(node_of("ReorderOutput", "com.microsoft.nchwc")));
  EXPECT_TRUE(makes_no_values(node_of("Clip", "", 3)));
}

TEST(MovingOperators, AreNotThoseThatCompute) {
  for (const char* type : {"Exp", "Mul", "Cast", "Pad", "ReduceSum", "BatchNormalization", "MaxPool"}) {
    EXPECT_FALSE(makes_no_values(node_of(type))) << type;
  }
  EXPECT_FALSE(makes_no_values(node_of("Clip"))) << "its bounds may be infinite attributes";
  EXPECT_FALSE(makes_no_values(node_of("Reshape", "com.example"))) << "a custom operator";
  EXPECT_FALSE(makes_no_values(node_of("Conv", "com.microsoft.nchwc")));
}

TEST(MovingOperators, HaveNoBodies) {
  Node node = node_of("Identity");
  node.subgraphs.emplace_back();
  EXPECT_FALSE(makes_no_values(node));
}

}  // namespace
}  // namespace tensortap::onnxruntime
