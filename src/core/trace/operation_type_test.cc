#include "trace/operation_type.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(OperationType, IsTheWordsOfAnOperatorInCamelCaseAndTheClassOfAModule) {
  struct Row {
    std::string type;
    Level level;
    std::string spelt;
  };
  const std::vector<Row> rows = {
      {"mm", Level::kOp, "MmOperation"},
      {"native_layer_norm", Level::kOp, "NativeLayerNormOperation"},
      {"_softmax", Level::kOp, "SoftmaxOperation"},
      {"add_", Level::kOp, "AddOperation"},
      {"Conv", Level::kOp, "ConvOperation"},
      {"upsample_nearest2d", Level::kOp, "UpsampleNearest2dOperation"},
      {"LinearOperation", Level::kOp, "LinearOperation"},
      {"mkldnn_linear", Level::kKernel, "mkldnn_linear"},
      {"aten::mm", Level::kOp, "AtenMmOperation"},
      {"LlamaAttention", Level::kModule, "LlamaAttention"},
      {"My_Layer", Level::kModule, "My_Layer"},
      {"Net<2>", Level::kModel, "Net_2_"},
  };
  for (const Row& row : rows) {
    OpInfo op;
    op.type = row.type;
    op.level = row.level;
    EXPECT_EQ(operation_type(op), row.spelt) << row.type;
  }
}

}  // namespace
}  // namespace tensortap
