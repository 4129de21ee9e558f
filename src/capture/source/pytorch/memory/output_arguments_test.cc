#include "source/pytorch/memory/output_arguments.h"

#include <gtest/gtest.h>

namespace tensortap::pytorch {
namespace {

TEST(OutputArguments, AreThoseThatAllGraphsGiveNewBuffersFor) {
  EXPECT_EQ(output_arguments("mine::multiply", ""), 0U);
  note_output_argument("mine::multiply.default", 0, true);
  note_output_argument("mine::multiply.default", 3, true);
  note_output_argument("mine::multiply.default", 64, true);
  EXPECT_EQ(output_arguments("mine::multiply", ""), 9U);
  note_output_argument("mine::multiply.default", 3, false);
  EXPECT_EQ(output_arguments("mine::multiply", ""), 1U);
  EXPECT_EQ(output_arguments("mine::multiply", "out"), 0U);
}

TEST(OutputArguments, CodeRunsUntilItsOutermostCallEnds) {
  EXPECT_FALSE(compiled_code_runs());
  compiled_code_begins();
  compiled_code_begins();
  note_operator_in_code();
  EXPECT_TRUE(compiled_code_ends());
  EXPECT_TRUE(compiled_code_runs());
  EXPECT_TRUE(compiled_code_ends());
  EXPECT_FALSE(compiled_code_runs());
  compiled_code_begins();
  EXPECT_FALSE(compiled_code_ends());
}

}  // namespace
}  // namespace tensortap::pytorch
