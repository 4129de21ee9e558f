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

// The gradient of one element of a rectifier comes or goes where its input is next to 0.
TEST(LocalJudge, AnElementAtTheBendOfAFunctionMayChangeSides) {
  for (const bool inputs_differ : {true, false}) {
    MadeDump a;
    MadeDump b;
    for (MadeDump* dump : {&a, &b}) {
      const bool of_a = dump == &a;
      const OpId x = dump->op("x", std::string(kInputType));
      dump->gives(x, numbers(2048, 1));
      const OpId sum = dump->op("sum", "sigmoid", {x});
      dump->gives(sum, scaled(numbers(2048, 2), of_a && inputs_differ ? 1 + 0x1p-23F : 1));
      const OpId gate = dump->op("gate", "threshold_backward", {sum});
      std::vector<float> gradients = numbers(2048, 3);
      if (of_a) gradients[5] = 0;
      dump->gives(gate, gradients);
    }
    auto comparison = DumpComparison::make(a, b, {});
    ASSERT_TRUE(comparison.ok());
    (*comparison)->run([](const ComparedValue&) {});
    EXPECT_EQ((*comparison)->summary().outside(), !inputs_differ);
  }
}

}  // namespace
}  // namespace tensortap
