#include "compare/sum_terms.h"

#include <gtest/gtest.h>

#include <string>

#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

constexpr int64_t kImages = 4;
constexpr int64_t kChannels = 8;
constexpr int64_t kPixels = 256;

// Whether a value that a norm of images makes is out if it is `steps` steps of float32 off, its input being equal.
bool is_out(const std::string& type, float steps, bool is_mean) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* program : {&a, &b}) {
    const OpId x = program->op("x", std::string(kInputType));
    program->gives(x, numbers(kImages * kChannels * kPixels, 1), Shape({kImages, kChannels, kPixels}));
    const OpId norm = program->op("norm", type, {x});
    const size_t count = is_mean ? kChannels : kImages * kChannels * kPixels;
    std::vector<float> values = numbers(count, 2);
    if (program == &a) {
      for (float& value : values) value *= 1 + steps * 0x1p-23F;
    }
    const Shape shape = is_mean ? Shape({kChannels}) : Shape({kImages, kChannels, kPixels});
    const size_t row = program->gives(norm, values, shape);
    if (is_mean) program->all_rows[row].slot_index = 1;
  }
  auto comparison = DumpComparison::make(a, b, {});
  EXPECT_TRUE(comparison.ok()) << comparison.status().message();
  bool out = false;
  (*comparison)->run([&out](const ComparedValue& value) { out |= value.judgement.finding != Finding::kNone; });
  return out;
}

TEST(SumTerms, AllowTheStatisticsOfABatchNormTheErrorOfItsSums) {
  for (const bool is_mean : {false, true}) {
    EXPECT_FALSE(is_out("native_batch_norm", 4, is_mean)) << "1024 elements of a channel, in four lanes: 8 steps";
    EXPECT_TRUE(is_out("native_batch_norm", 12, is_mean));
    EXPECT_TRUE(is_out("native_layer_norm", 4, is_mean)) << "no statistics of a batch";
  }
}

TEST(SumTerms, LimitTheErrorOfTheStatisticsOfABatch) {
  const OpKind kind{.is_norm = true, .is_batch_norm = true};
  RecordRow mean;
  mean.set_desc({DType::kFloat32, Shape({1})});
  mean.slot_index = 1;
  EXPECT_EQ(steps_of_batch_statistics(kind, mean, {{.norm = 1, .numel = 1 << 20}}), 16);
  EXPECT_EQ(steps_of_batch_statistics(kind, mean, {{.norm = 1, .numel = 1024}}), 8);
  EXPECT_EQ(steps_of_batch_statistics(kind, mean, {}), 0.25);
  EXPECT_EQ(steps_of_batch_statistics({.is_norm = true}, mean, {{.norm = 1, .numel = 1024}}), 0);
  mean.dims_count = 0;
  EXPECT_EQ(steps_of_batch_statistics(kind, mean, {{.norm = 1, .numel = 1024}}), 0) << "a shape of a damaged row";
}

}  // namespace
}  // namespace tensortap
