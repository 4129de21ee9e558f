#include "find/gradient_depth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

// Modules m0, m1, ... with parameters, whose gradients in step 5 have these magnitudes, in the order of the backward pass.
struct DeepDump : VectorDumpIndex {
  DeepDump(int modules, const std::function<double(int)>& rms, bool with_parameters = true) {
    for (int i = 0; i < modules; ++i) {
      OpInfo forward;
      forward.name = "m" + std::to_string(i) + "/addmm";
      forward.module = "m" + std::to_string(i);
      if (with_parameters) forward.attributes = R"({"parameters": [1]})";
      OpInfo backward = forward;
      backward.name = "m" + std::to_string(i) + "/AddmmBackward0/mm";
      backward.attributes = "";
      add_op(forward);
      add_op(backward);
    }
    for (int64_t step = 4; step <= 5; ++step) {
      for (int i = 0; i < modules; ++i) {
        for (const double scale : {1.0, 0.5, 4.0}) add_gradient(static_cast<OpId>(2 * i + 1), step, scale * (step == 5 ? rms(i) : 1));
      }
    }
  }
  void add_gradient(OpId id, int64_t step, double rms) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.phase = static_cast<uint8_t>(Phase::kBackward);
    row.set_desc({DType::kFloat32, {4}});
    row.stats.valid = kStatL2 | kStatNan;
    row.stats.count = 4;
    row.stats.l2 = rms * 2;
    row.stats.nan = std::isnan(rms) ? 1 : 0;
    add(row);
  }
};

// B4
TEST(GradientDepth, VanishesOnTheWayBackByTheExactRate) {
  const auto found = gradient_depth(DeepDump(10, [](int i) { return std::exp2(-2.5 * i); }));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->slope, -2.5);
  EXPECT_EQ(found->modules, 10U);
  EXPECT_EQ(found->step, 5);
  EXPECT_EQ(found->first, "m0");
  EXPECT_DOUBLE_EQ(found->first_rms, 1);
  EXPECT_EQ(found->last, "m9");
  EXPECT_DOUBLE_EQ(found->last_rms, std::exp2(-22.5));
}

TEST(GradientDepth, ExplodesToo) {
  const auto found = gradient_depth(DeepDump(6, [](int i) { return std::exp2(3 * i); }));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->slope, 3);
}

TEST(GradientDepth, NeedsARateSixModulesAndParameters) {
  EXPECT_FALSE(gradient_depth(DeepDump(10, [](int i) { return std::exp2(-1.9 * i); })));
  EXPECT_FALSE(gradient_depth(DeepDump(5, [](int i) { return std::exp2(-3 * i); })));
  EXPECT_FALSE(gradient_depth(DeepDump(
      10, [](int i) { return std::exp2(-3 * i); }, false)));
  EXPECT_FALSE(gradient_depth(DeepDump(10, [](int i) { return i < 5 ? std::exp2(-3 * i) : NAN; })));
  EXPECT_FALSE(gradient_depth(VectorDumpIndex()));
}

}  // namespace
}  // namespace tensortap
