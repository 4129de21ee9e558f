#include "stats/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "stats/stats.h"
#include "stats/stats_target.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

TensorSketch compute_sketch(const TensorView& view, const SketchOptions& options) {
  if (const SketchState state = sketch_state(view.desc, options); !has_sketch(state)) return {};
  SketchBuilder builder(view.desc, options);
  StatsOptions statistics;
  statistics.wanted = kStatMinimal;
  statistics.sketch = &builder;
  compute_stats(view, statistics);
  return builder.finish();
}

constexpr double kSketchNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSketchInf = std::numeric_limits<double>::infinity();

// The definition itself, one element at a time. `values` in logical order.
TensorSketch sketch_by_definition(const std::vector<double>& values, const Shape& shape, int axis, uint32_t block, bool in_double) {
  TensorSketch sketch;
  sketch.axis = axis;
  sketch.block = block;
  uint64_t run = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) run *= static_cast<uint64_t>(shape[i]);
  sketch.channels.resize(static_cast<size_t>(shape[axis]));
  sketch.channel_elements = values.size() / sketch.channels.size();
  for (size_t i = 0; i < values.size(); ++i) {
    ChannelSums& sums = sketch.channels[i / run % sketch.channels.size()];
    if (!std::isfinite(values[i])) {
      ++sums.nonfinite;
      continue;
    }
    sums.absmax = std::max(sums.absmax, std::abs(values[i]));
    sums.squares += values[i] * values[i];
    sums.zero += values[i] == 0 ? 1 : 0;
  }
  const auto row = static_cast<size_t>(shape[shape.rank() - 1]);
  for (size_t begin = 0; begin < values.size();) {
    const size_t end = std::min(begin + block, (begin / row + 1) * row);
    double absmax = 0;
    for (size_t i = begin; i < end; ++i)
      absmax = std::isnan(values[i]) || std::isnan(absmax) ? kSketchNan : std::max(absmax, std::abs(values[i]));
    if (std::isnan(absmax)) {
      ++sketch.blocks.nan;
    } else if (std::isinf(absmax)) {
      ++sketch.blocks.inf;
    } else if (absmax == 0) {
      ++sketch.blocks.zero;
    } else {
      int exponent = 0;
      std::frexp(absmax, &exponent);
      ++sketch.blocks.bins[std::clamp(exponent - 1 + 150, 0, 279)];
      for (size_t i = begin; i < end; ++i) {
        if (values[i] == 0) continue;
        ++sketch.blocks.nonzero;
        for (size_t f = 0; f < 3; ++f) {
          const double factor = kUnderflowFormats[f].factor;
          const double product = in_double ? std::abs(values[i]) * factor
                                           : static_cast<double>(static_cast<float>(std::abs(values[i])) * static_cast<float>(factor));
          sketch.blocks.underflow[f] += product <= absmax ? 1 : 0;
        }
      }
    }
    begin = end;
  }
  return sketch;
}

std::string sketch_difference(const TensorSketch& expected, const TensorSketch& sketch, double tolerance) {
  if (expected.axis != sketch.axis || expected.channels.size() != sketch.channels.size()) return "channels";
  if (expected.channel_elements != sketch.channel_elements) return "elements of a channel";
  for (size_t i = 0; i < expected.channels.size(); ++i) {
    const ChannelSums& a = expected.channels[i];
    const ChannelSums& b = sketch.channels[i];
    const std::string where = " of channel " + std::to_string(i);
    if (a.absmax != b.absmax) return "absmax" + where;
    if (a.zero != b.zero) return "zero" + where + ": " + std::to_string(a.zero) + ", " + std::to_string(b.zero);
    if (a.nonfinite != b.nonfinite) return "nonfinite" + where;
    if (a.squares != b.squares && !(std::abs(a.squares - b.squares) <= tolerance * a.squares)) return "squares" + where;
  }
  if (expected.block != sketch.block) return "block";
  const BlockCounts& a = expected.blocks;
  const BlockCounts& b = sketch.blocks;
  for (int i = 0; i < BlockCounts::kBins; ++i) {
    if (a.bins[i] != b.bins[i]) return "bin " + std::to_string(i) + ": " + std::to_string(a.bins[i]) + ", " + std::to_string(b.bins[i]);
  }
  for (size_t f = 0; f < kUnderflowFormats.size(); ++f) {
    if (a.underflow[f] != b.underflow[f])
      return "underflow " + std::to_string(f) + ": " + std::to_string(a.underflow[f]) + ", " + std::to_string(b.underflow[f]);
  }
  if (a.nonzero != b.nonzero) return "nonzero: " + std::to_string(a.nonzero) + ", " + std::to_string(b.nonzero);
  return a == b ? "" : "blocks";
}

// What bytes mean as numbers, complex ones by modulus.
std::vector<double> numbers_of(DType dtype, const void* data, uint64_t count) {
  std::vector<double> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    double imaginary = 0;
    to_complex128(dtype, data, i, values[i], imaginary);
    if (dtype_info(dtype).kind != DTypeKind::kComplex) continue;
    values[i] = std::isnan(values[i]) || std::isnan(imaginary) ? kSketchNan : std::sqrt(values[i] * values[i] + imaginary * imaginary);
  }
  return values;
}

const Shape kSketchShapes[] = {{1},        {5},        {3, 7},     {64, 3},    {1000, 40}, {2, 3, 5, 7}, {1, 37, 31, 33},
                               {33, 1025}, {300, 128}, {2, 20000}, {70, 16, 5}};

class Sketch : public testing::TestWithParam<DType> {};
class OrdinarySketch : public testing::TestWithParam<DType> {};

TEST_P(Sketch, SaysWhatTheDefinitionSaysOnEveryInstructionSet) {
  const DType dtype = GetParam();
  const bool in_double = dtype_info(dtype).kind == DTypeKind::kComplex || dtype_info(dtype).bits > 32 ||
                         (dtype_info(dtype).bits == 32 && dtype != DType::kFloat32);
  std::mt19937_64 random(3);
  const std::string before(stats_target());
  for (const Shape& shape : kSketchShapes) {
    const uint64_t numel = *shape.numel();
    std::vector<uint8_t> bytes(*packed_bytes(dtype, numel) + 1);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const std::vector<double> values = numbers_of(dtype, bytes.data() + 1, numel);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const uint32_t block = kSketchBlocks[static_cast<size_t>(axis) % 3];
      const TensorSketch expected = sketch_by_definition(values, shape, axis, block, in_double);
      for (const std::string_view target : stats_targets()) {
        ASSERT_TRUE(set_stats_target(target));
        const TensorSketch sketch = compute_sketch({{dtype, shape}, bytes.data() + 1, nullptr}, {axis, block});
        EXPECT_EQ(sketch_difference(expected, sketch, in_double ? 0x1p-40 : 0x1p-17), "")
            << target << " " << shape.to_text() << " axis " << axis;
      }
    }
  }
  set_stats_target(before);
}

INSTANTIATE_TEST_SUITE_P(All, Sketch,
                         testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64, DType::kInt8, DType::kUInt16,
                                         DType::kInt32, DType::kUInt64, DType::kFloat8E5M2, DType::kInt4, DType::kBool, DType::kComplex64),
                         [](const auto& parameter) { return std::string(dtype_name(parameter.param)); });

// Elements of these numbers, rounded to the type.
std::vector<std::byte> elements_of_numbers(DType dtype, const std::vector<double>& values) {
  const size_t bytes = dtype_info(dtype).bits / 8;
  std::vector<std::byte> elements(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<float>(values[i]);
    const uint16_t half = dtype == DType::kFloat16 ? float_to_float16(narrow) : float_to_bfloat16(narrow);
    const void* from = &half;
    if (dtype == DType::kFloat64) from = &values[i];
    if (dtype == DType::kFloat32) from = &narrow;
    std::memcpy(elements.data() + i * bytes, from, bytes);
  }
  return elements;
}

// The sketch beside all statistics, which say where there are no zeros.
TensorSketch sketch_beside_statistics(const TensorView& view, const SketchOptions& options) {
  SketchBuilder builder(view.desc, options);
  StatsOptions statistics;
  statistics.sketch = &builder;
  compute_stats(view, statistics);
  return builder.finish();
}

void expect_sketches_by_definition(DType dtype, const Shape& shape, const std::vector<double>& values, const std::string& what) {
  const std::vector<std::byte> elements = elements_of_numbers(dtype, values);
  const std::vector<double> stored = numbers_of(dtype, elements.data(), values.size());
  const TensorView view{{dtype, shape}, elements.data(), nullptr};
  const bool in_double = dtype == DType::kFloat64;
  const std::string before(stats_target());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    for (const uint32_t block : kSketchBlocks) {
      const TensorSketch expected = sketch_by_definition(stored, shape, axis, block, in_double);
      for (const std::string_view target : stats_targets()) {
        ASSERT_TRUE(set_stats_target(target));
        const TensorSketch sketch = sketch_beside_statistics(view, {axis - shape.rank(), block});
        EXPECT_EQ(sketch_difference(expected, sketch, in_double ? 0x1p-40 : 0x1p-17), "")
            << target << " " << shape.to_text() << " axis " << axis << " block " << block << " " << what;
      }
    }
  }
  set_stats_target(before);
}

// Numbers of an ordinary tensor, where the fast kernels serve; large and small ones, where squares do not fit.
TEST_P(OrdinarySketch, SaysWhatTheDefinitionSaysOfEveryShape) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 3);
  for (const Shape& shape : kSketchShapes) {
    for (const double scale : {1.0, 1e-6, 1e-39, 3e4}) {
      for (const bool has_zeros : {true, false}) {
        std::vector<double> values(*shape.numel());
        for (double& value : values) {
          value = normal(random) * (random() % 50 == 0 ? 1e-8 : 1.0) * scale;
          if (has_zeros && random() % 3 == 0) value = random() % 2 == 0 ? 0.0 : -0.0;
        }
        expect_sketches_by_definition(GetParam(), shape, values, (has_zeros ? "zeros, " : "") + std::to_string(scale));
      }
    }
  }
}

// Elements that lie on the limits up to which they become 0, and next to them.
TEST_P(OrdinarySketch, LimitsOfUnderflowAreExact) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> mantissa(1, 2);
  const Shape shape{64, 256};
  const double unit = GetParam() == DType::kFloat64   ? 0x1p-52
                      : GetParam() == DType::kFloat32 ? 0x1p-23
                      : GetParam() == DType::kFloat16 ? 0x1p-10
                                                      : 0x1p-7;
  for (const int exponent : {0, 9, -8, -100, -126, -130, 100}) {
    std::vector<double> values(*shape.numel());
    double most = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % 16 == 0) most = std::ldexp(mantissa(random), exponent);
      const double off = (static_cast<double>(random() % 7) - 3) * unit;
      values[i] = i % 16 == 0 ? most : most / kUnderflowFormats[random() % 3].factor * (1 + off) * (random() % 2 == 0 ? 1 : -1);
    }
    expect_sketches_by_definition(GetParam(), shape, values, "exponent " + std::to_string(exponent));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OrdinarySketch, testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16),
                         [](const auto& parameter) { return std::string(dtype_name(parameter.param)); });

TEST(TensorSketch, StatisticsBesideItAreThoseWithoutIt) {
  std::vector<float> values(100000);
  std::mt19937 random(9);
  std::normal_distribution<float> normal(4, 1);
  for (float& value : values) value = normal(random);
  values[777] = std::numeric_limits<float>::infinity();
  const TensorView view{{DType::kFloat32, Shape{1000, 100}}, values.data(), nullptr};
  SketchBuilder builder(view.desc, {1, 32});
  StatsOptions options;
  options.sketch = &builder;
  const TensorStats beside = compute_stats(view, options);
  const TensorStats alone = compute_stats(view, {});
  EXPECT_EQ(std::memcmp(&beside, &alone, sizeof(alone)), 0);
  const TensorSketch sketch = builder.finish();
  EXPECT_EQ(sketch.channels[77].nonfinite, 1U);
  EXPECT_EQ(sketch.channels[77].absmax, static_cast<double>(std::max(0.0F, [&] {
              float most = 0;
              for (size_t i = 77; i < values.size(); i += 100) most = std::isfinite(values[i]) ? std::max(most, std::abs(values[i])) : most;
              return most;
            }())));
  EXPECT_EQ(sketch.blocks.inf, 1U);
}

TEST(TensorSketch, StridedViewsAndTransposedOnesGoByTheOrderOfTheirDims) {
  std::vector<float> data(6 * 7 * 4);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) - 60;
  struct Case {
    Shape shape;
    std::vector<int64_t> strides;
    size_t start;
  };
  const Case cases[] = {{{7, 6}, {1, 7}, 0}, {{6, 7}, {14, 2}, 1}, {{5, 8}, {0, 3}, 2}, {{40}, {-2}, 100}};
  for (const Case& one : cases) {
    std::vector<double> logical;
    const int64_t columns = one.shape.rank() == 1 ? one.shape[0] : one.shape[1];
    for (int64_t i = 0; i < static_cast<int64_t>(*one.shape.numel()); ++i) {
      const int64_t at = one.shape.rank() == 1 ? i * one.strides[0] : i / columns * one.strides[0] + i % columns * one.strides[1];
      logical.push_back(static_cast<double>(data[one.start + static_cast<size_t>(at + 0)]));
    }
    const TensorView view{{DType::kFloat32, one.shape}, data.data() + one.start, one.strides.data()};
    EXPECT_EQ(sketch_difference(sketch_by_definition(logical, one.shape, 0, 16, false), compute_sketch(view, {0, 16}), 0x1p-40), "");
  }
}

TEST(TensorSketch, MagnitudesAtTheEndsOfTheType) {
  const std::vector<float> values = {3e38F, -3e38F, 1e-45F, 0, 1e-30F, -1e-30F, 2e19F, -0.0F};
  const std::vector<double> wide(values.begin(), values.end());
  const TensorView view{{DType::kFloat32, Shape{4, 2}}, values.data(), nullptr};
  EXPECT_EQ(sketch_difference(sketch_by_definition(wide, Shape{4, 2}, 0, 16, false), compute_sketch(view, {0, 16}), 0x1p-40), "");
  const std::vector<double> doubles = {1e200, 1e-200, kSketchNan, -kSketchInf};
  const TensorSketch sketch = compute_sketch({{DType::kFloat64, Shape{4}}, doubles.data(), nullptr}, {0, 16});
  EXPECT_EQ(sketch.channels[0].squares, kSketchInf) << "beyond double";
  EXPECT_EQ(sketch.channels[2].nonfinite, 1U);
  EXPECT_EQ(sketch.blocks.nan, 1U) << "a block with both counts as one with NaN";
}

TEST(TensorSketch, EmptyTensorsScalarsAndWhatHasNoSketch) {
  const TensorSketch none = compute_sketch({{DType::kFloat32, Shape{0, 5}}, nullptr, nullptr}, {1, 16});
  EXPECT_EQ(none.channels.size(), 5U);
  EXPECT_EQ(none.channel_elements, 0U);
  EXPECT_EQ(compute_sketch({{DType::kFloat32, Shape{5, 0}}, nullptr, nullptr}, {1, 16}).channels.size(), 0U);
  const float one = -3;
  const TensorSketch scalar = compute_sketch({{DType::kFloat32, Shape{}}, &one, nullptr}, {std::nullopt, 32});
  EXPECT_EQ(scalar.blocks.bins[151], 1U);
  const auto state = [](DType dtype, const Shape& shape, std::optional<int32_t> axis) { return sketch_state({dtype, shape}, {axis, 16}); };
  EXPECT_EQ(state(DType::kFloat32, Shape{2, 3}, -2), SketchState::kThere);
  EXPECT_EQ(state(DType::kFloat32, Shape{2, 3}, -3), SketchState::kNoAxis);
  EXPECT_EQ(state(DType::kFloat32, Shape{2, 3}, 2), SketchState::kNoAxis);
  EXPECT_EQ(state(DType::kFloat32, Shape{65536}, 0), SketchState::kThere);
  EXPECT_EQ(state(DType::kFloat32, Shape{65537}, 0), SketchState::kTooManyChannels);
  EXPECT_EQ(state(DType::kString, Shape{2}, 0), SketchState::kNoNumbers);
  EXPECT_EQ(sketch_state({DType::kFloat32, Shape{2}}, {}), SketchState::kNotAsked);
  // Blocks do not need the axis.
  EXPECT_EQ(compute_sketch({{DType::kFloat32, Shape{}}, &one, nullptr}, {4, 32}), scalar);
}

TEST(TensorSketch, PartsMergeToTheWhole) {
  std::vector<float> values(96 * 50);
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 1);
  for (float& value : values) value = normal(random);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  const TensorSketch whole = compute_sketch({{DType::kFloat32, Shape{96, 50}}, values.data(), nullptr}, {1, 16});
  TensorSketch merged = compute_sketch({{DType::kFloat32, Shape{32, 50}}, values.data(), nullptr}, {1, 16});
  for (size_t part = 1; part < 3; ++part) {
    const TensorSketch other = compute_sketch({{DType::kFloat32, Shape{32, 50}}, values.data() + part * 1600, nullptr}, {-1, 16});
    ASSERT_TRUE(merge_sketch(other, merged).ok());
  }
  EXPECT_EQ(sketch_difference(whole, merged, 0x1p-18), "");
  const TensorSketch before = merged;
  for (const SketchOptions& odd : {SketchOptions{0, 16}, SketchOptions{1, 32}, SketchOptions{std::nullopt, 16}}) {
    const TensorSketch other = compute_sketch({{DType::kFloat32, Shape{32, 50}}, values.data(), nullptr}, odd);
    EXPECT_EQ(merge_sketch(other, merged).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(merged, before);
  }
}

}  // namespace
}  // namespace tensortap
