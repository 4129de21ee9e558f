// Names as the real library gives them; tests/msit_trees_test.py reads whole recorded trees.

#include "system/msit/tree/tree_names.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tensortap::msit {
namespace {

OpInfo op_of(std::string_view type, Level level) {
  OpInfo op;
  op.type = type;
  op.level = level;
  return op;
}

TEST(MsitNames, OfTensorsAreTakenApart) {
  const auto input = parse_tensor_name("intensor12.bin");
  ASSERT_TRUE(input.has_value());
  EXPECT_TRUE(input->is_input);
  EXPECT_EQ(input->slot, 12);
  const auto output = parse_tensor_name("outTensor0_attention_mask.bin");
  ASSERT_TRUE(output.has_value());
  EXPECT_FALSE(output->is_input);
  EXPECT_EQ(output->parameter, "attention_mask");
  const auto again = parse_tensor_name(tensor_name(false, 3, 7));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->slot, 3);
  EXPECT_EQ(again->call, 7U);
  EXPECT_EQ(again->parameter, "");
  EXPECT_EQ(tensor_name(true, 0, 0), "intensor0.bin");
}

TEST(MsitNames, OfOtherFilesAreNone) {
  for (const char* name : {"", ".bin", "intensor.bin", "intensor-1.bin", "intensor65536.bin", "intensor0", "intensor0.bin.npy",
                           "tensor0.bin", "intensor 0.bin", "INTENSOR0.bin", "outtensor_0.bin"}) {
    EXPECT_FALSE(parse_tensor_name(name).has_value()) << name;
  }
  for (const char* name : {"", "0", "_7", "0_", "a_7", "0_7_8", "-2_7", "0_7a", "4294967296_1"}) {
    EXPECT_FALSE(parse_process_name(name).has_value()) << name;
  }
  for (const char* name : {"", "0", "0_", "_Linear", "a_Linear", "-1_Linear", "4294967295_Linear"}) {
    EXPECT_FALSE(parse_operation_name(name).has_value()) << name;
  }
}

TEST(MsitNames, OfProcessesMayHaveNoDevice) {
  EXPECT_EQ(parse_process_name("-1_22377")->device, -1);
  EXPECT_EQ(parse_process_name("7_22377")->process, 22377);
}

TEST(MsitNames, OfDumpsHaveATimeOrNone) {
  EXPECT_EQ(time_of_dump("msit_dump_20251120_200000"), "20251120200000");
  EXPECT_EQ(dump_name("20251120200000"), "msit_dump_20251120_200000");
  EXPECT_EQ(time_of_dump("ait_dump"), "");
  EXPECT_TRUE(is_dump_name("ait_dump"));
  EXPECT_FALSE(is_dump_name("msit_dumps"));
  EXPECT_EQ(time_of_dump("msit_dump_yesterday"), "");
}

// The table of the design.
TEST(MsitNames, OfOperatorsAreCamelCase) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"mm", "MmOperation"},
      {"add_", "AddOperation"},
      {"_softmax", "SoftmaxOperation"},
      {"native_layer_norm", "NativeLayerNormOperation"},
      {"Conv", "ConvOperation"},
      {"com.microsoft.Gelu", "ComMicrosoftGeluOperation"},
      {"LinearOperation", "LinearOperation"},
      {"größe", "GrEOperation"},
      {"", "_"},
  };
  for (const auto& [type, name] : cases) EXPECT_EQ(operation_type(op_of(type, Level::kOp)), name);
  EXPECT_EQ(operation_type(op_of("Decoder_layer", Level::kModule)), "Decoder_layer");
  EXPECT_EQ(operation_type(op_of("../../up", Level::kModule)), "______up");
  EXPECT_LE(operation_type(op_of(std::string(5000, 'm'), Level::kOp)).size(), 220U);
}

}  // namespace
}  // namespace tensortap::msit
