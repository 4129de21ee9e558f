#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

// A normalisation of 8 channels whose outputs are this much apart.
struct Normalised : MadeDump {
  Normalised(const std::string& attributes, float error) {
    const OpId x = op("x", std::string(kInputType));
    gives(x, numbers(8192, 1), Shape({4, 8, 16, 16}));
    const OpId norm = op("norm", "native_batch_norm", {x});
    at(norm).attributes = attributes;
    gives(norm, scaled(numbers(8192, 2), 1 + error), Shape({4, 8, 16, 16}));
  }
};

// In the layout of channels last, 1,024 numbers of each channel are added in another order.
TEST(LocalJudge, ANormRoundsMoreThanOnceAndStatisticsOfABatchAsSumsOfManyNumbers) {
  for (const auto& [training, steps, is_out] :
       {std::tuple(true, 7, false), std::tuple(true, 40, true), std::tuple(false, 7, true), std::tuple(false, 3, false)}) {
    const std::string attributes = training ? R"({"training":true})" : R"({"training":false})";
    const Normalised a(attributes, static_cast<float>(steps) * 0x1p-23F);
    const Normalised b(attributes, 0);
    auto comparison = DumpComparison::make(a, b, {});
    ASSERT_TRUE(comparison.ok());
    (*comparison)->run([](const ComparedValue&) {});
    EXPECT_EQ((*comparison)->summary().outside(), is_out) << attributes << steps;
  }
}

}  // namespace
}  // namespace tensortap
