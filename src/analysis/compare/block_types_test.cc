#include "compare/block_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

constexpr size_t kElements = 256;

// As the quantiser of q8_0 does it: 32 numbers share a step, which is the largest of them by 127.
std::vector<float> in_blocks(std::vector<float> values) {
  for (size_t begin = 0; begin < values.size(); begin += 32) {
    float largest = 0;
    for (size_t i = begin; i < begin + 32; ++i) largest = std::max(largest, std::abs(values[i]));
    for (size_t i = begin; i < begin + 32; ++i) values[i] = std::round(values[i] / largest * 127) * largest / 127;
  }
  return values;
}

// A weight "w" and what a product makes of it.
struct BlocksProgram : MadeDump {
  BlocksProgram(const std::vector<float>& weight, const std::vector<float>& product, bool has_blocks) {
    const OpId given = op("w", "Initializer");
    if (has_blocks) at(given).attributes = R"({"ggml_type": "q8_0"})";
    gives(given, weight);
    const OpId made = op("product", "MUL_MAT", {given});
    if (has_blocks) at(made).attributes = R"({"weight_type": "q8_0"})";
    gives(made, product);
  }
};

bool is_out(const BlocksProgram& a, const BlocksProgram& b) {
  auto comparison = DumpComparison::make(a, b, {});
  EXPECT_TRUE(comparison.ok());
  (*comparison)->run([](const ComparedValue&) {});
  return (*comparison)->summary().outside();
}

TEST(BlockTypes, AreToldByTheAttributesOfWeightsAndOfWhatReadsThem) {
  const BlocksProgram program(numbers(kElements, 1), numbers(kElements, 2), true);
  for (const OpInfo& op : program.all_ops) EXPECT_EQ(block_type_of(op), "q8_0");
  const BlocksProgram plain(numbers(kElements, 1), numbers(kElements, 2), false);
  for (const OpInfo& op : plain.all_ops) EXPECT_EQ(block_type_of(op), "");
}

TEST(BlockTypes, LoseMoreWhereTheirStepsAreCoarser) {
  EXPECT_EQ(loss_of_blocks(""), 0);
  EXPECT_NEAR(loss_of_blocks("q8_0"), 0.0052, 1e-4);
  EXPECT_NEAR(loss_of_blocks("q4_0"), 0.083, 1e-3);
  EXPECT_GE(loss_of_blocks("not known"), loss_of_blocks("q2_K"));
}

TEST(BlockTypes, AWeightMayDifferByWhatItsBlocksLoseAndByNoMore) {
  const std::vector<float> weight = numbers(kElements, 1);
  const std::vector<float> product = numbers(kElements, 2);
  const BlocksProgram original(weight, product, false);
  const BlocksProgram blocks(in_blocks(weight), scaled(product, 1.004F), true);
  EXPECT_FALSE(is_out(blocks, original));
  EXPECT_FALSE(is_out(original, blocks));
  const BlocksProgram other(in_blocks(scaled(weight, 1.02F)), scaled(product, 1.004F), true);
  EXPECT_TRUE(is_out(other, original)) << "2 % are more than half a step of each element";
  EXPECT_TRUE(is_out(original, other));
}

TEST(BlockTypes, AProductMayNotDifferByMoreThanItsWeightExplains) {
  const std::vector<float> weight = numbers(kElements, 1);
  const std::vector<float> product = numbers(kElements, 2);
  EXPECT_TRUE(is_out(BlocksProgram(in_blocks(weight), scaled(product, 1.04F), true), BlocksProgram(weight, product, false)));
}

TEST(BlockTypes, ExcuseNothingWhereBothProgramsHaveTheSame) {
  const std::vector<float> weight = in_blocks(numbers(kElements, 1));
  const std::vector<float> product = numbers(kElements, 2);
  EXPECT_FALSE(is_out(BlocksProgram(weight, product, true), BlocksProgram(weight, product, true)));
  EXPECT_TRUE(is_out(BlocksProgram(weight, scaled(product, 1.0001F), true), BlocksProgram(weight, product, true)));
}

}  // namespace
}  // namespace tensortap
