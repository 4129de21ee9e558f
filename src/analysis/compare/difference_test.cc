#include "compare/difference.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "compare/compare_tensors.h"
#include "compare/every_target.h"
#include "tensor/dtype.h"
#include "tensor/number_formats.h"
#include "tensor/tensor.h"

namespace tensortap {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kUInt64;
  return DType::kUndefined;
}

template <class T>
TensorView view_of(const std::vector<T>& values) {
  return {{dtype_of<T>(), Shape{static_cast<int64_t>(values.size())}}, values.data(), nullptr};
}

Difference compare(const TensorView& a, const TensorView& b, const DifferenceOptions& options = {}) {
  const auto difference = compare_tensors(a, b, options);
  EXPECT_TRUE(difference.ok()) << difference.status().message();
  return difference.ok() ? *difference : Difference();
}

template <class A, class B = A>
Difference compare(const std::vector<A>& a, const std::vector<B>& b, const DifferenceOptions& options = {}) {
  return compare(view_of(a), view_of(b), options);
}

TEST(Difference, IsWhatItsNamesSay) {
  with_every_target([] {
    const Difference found = compare<float>({3, -4, 0, 1, 2, 2, 2, 2}, {3, -4, 0, 2, 2, 2, 2, 1});
    EXPECT_EQ(found.numel, 8U);
    EXPECT_EQ(found.compared, 8U);
    EXPECT_EQ(found.finite, 8U);
    EXPECT_FALSE(found.bit_equal);
    EXPECT_EQ(found.differing, 2U);
    EXPECT_EQ(found.first_differing, 3U);
    EXPECT_EQ(found.max_abs, 1);
    EXPECT_EQ(found.max_abs_at, 3U);
    EXPECT_EQ(found.max_rel, 1);
    EXPECT_EQ(found.max_rel_at, 7U);
    EXPECT_EQ(found.mean, 0);
    EXPECT_EQ(found.mean_abs, 0.25);
    EXPECT_EQ(found.mse, 0.25);
    EXPECT_EQ(found.rmse, 0.5);
    EXPECT_DOUBLE_EQ(found.l2_a, std::sqrt(42.0));
    EXPECT_DOUBLE_EQ(found.l2_b, std::sqrt(42.0));
    EXPECT_DOUBLE_EQ(found.relative_l2, std::sqrt(2.0 / 42.0));
    EXPECT_DOUBLE_EQ(found.cosine, 41.0 / 42.0);
    EXPECT_DOUBLE_EQ(found.snr_db, 10 * std::log10(42.0 / 2.0));
    EXPECT_EQ(found.max_ulp, 8388608U);  // from 1 to 2
    EXPECT_EQ(found.ulp_dtype, DType::kFloat32);
    EXPECT_EQ(found.outside, 2U);
    EXPECT_EQ(found.share_within_1e_3, 0.75);
    EXPECT_FALSE(found.narrowed.has_value());
  });
}

TEST(Difference, OfEqualTensorsIsNothing) {
  with_every_target([] {
    const std::vector<float> values(10000, 0.5F);
    const Difference found = compare(values, values);
    EXPECT_TRUE(found.bit_equal);
    EXPECT_EQ(found.differing, 0U);
    EXPECT_FALSE(found.first_differing.has_value());
    EXPECT_EQ(found.relative_l2, 0);
    EXPECT_EQ(found.cosine, 1);
    EXPECT_EQ(found.snr_db, HUGE_VAL);
    EXPECT_EQ(found.l2_a, 50);
    EXPECT_EQ(found.l2_b, 50);
    EXPECT_EQ(found.ulp_histogram[0], 10000U);
    EXPECT_EQ(found.tolerance_histogram[0], 10000U);
    EXPECT_EQ(found.share_within_1e_3, 1);
  });
}

TEST(Difference, OfNoElementsIsNothing) {
  const Difference found = compare<float>({}, {});
  EXPECT_TRUE(found.bit_equal);
  EXPECT_EQ(found.compared, 0U);
  EXPECT_EQ(found.cosine, 1);
  EXPECT_EQ(found.share_within_5e_3, 1);
  EXPECT_EQ(found.tolerance_factor(1), std::ldexp(1.0, -31));
}

TEST(Difference, CosineOfZeros) {
  const std::vector<float> zeros(40, 0);
  const std::vector<float> ones(40, 1);
  with_every_target([&] {
    EXPECT_EQ(compare(zeros, zeros).cosine, 1);
    EXPECT_EQ(compare(zeros, ones).cosine, 0);
    EXPECT_EQ(compare(ones, zeros).cosine, 0);
    EXPECT_EQ(compare(zeros, ones).relative_l2, 1);
    EXPECT_EQ(compare(ones, zeros).relative_l2, HUGE_VAL);
    EXPECT_EQ(compare(ones, zeros).snr_db, -HUGE_VAL);
    EXPECT_EQ(compare(zeros, ones).zero_a_only, 40U);
    EXPECT_EQ(compare(ones, zeros).zero_b_only, 40U);
  });
}

TEST(Difference, NanAndInfinityAreCountedAndInNoMean) {
  with_every_target([] {
    const Difference found = compare<float>({kNan, kInfinity, -kInfinity, kNan, kInfinity, 1, 2, 5, kInfinity},
                                            {kNan, kInfinity, -kInfinity, 1, -kInfinity, kNan, 2, 3, 7});
    EXPECT_EQ(found.finite, 2U);
    EXPECT_EQ(found.nonfinite_a.nan, 2U);
    EXPECT_EQ(found.nonfinite_a.pos_inf, 3U);
    EXPECT_EQ(found.nonfinite_a.neg_inf, 1U);
    EXPECT_EQ(found.nonfinite_b.nan, 2U);
    EXPECT_EQ(found.nonfinite_b.pos_inf, 1U);
    EXPECT_EQ(found.nonfinite_b.neg_inf, 2U);
    EXPECT_EQ(found.both_nan, 1U);
    EXPECT_EQ(found.nonfinite_differing, 4U);
    EXPECT_EQ(found.first_nonfinite_differing, 3U);
    EXPECT_EQ(found.first_differing, 3U);
    EXPECT_EQ(found.differing, 5U);
    EXPECT_EQ(found.max_abs, 2);
    EXPECT_EQ(found.max_abs_at, 7U);
    EXPECT_EQ(found.mean, 1);
    EXPECT_DOUBLE_EQ(found.l2_b, std::sqrt(13.0));
    EXPECT_EQ(found.outside, 5U);
    EXPECT_EQ(found.outside_at(31), 4U);
    EXPECT_EQ(found.ulp_histogram[0], 4U);
    EXPECT_EQ(found.tolerance_factor(1), HUGE_VAL);
  });
}

TEST(Difference, SignsOfZeroAndPayloadsOfNanAreNoDifference) {
  const std::vector<float> a = {0, std::nanf("1"), 1};
  const std::vector<float> b = {-0.0F, std::nanf("2"), 1};
  const Difference found = compare(a, b);
  EXPECT_FALSE(found.bit_equal);
  EXPECT_EQ(found.differing, 0U);
  EXPECT_EQ(found.max_ulp, 0U);
}

TEST(Difference, ToleranceHistogramAnswersForEveryPowerOfTwo) {
  with_every_target([] {
    // 1, 2, 3, 4, 8 and 9 times the tolerance, 0 and half of it.
    const std::vector<float> b(8, 0);
    const Difference found = compare<float>({1, 2, 3, 4, 8, 9, 0, 0.5F}, b, {.tolerance = {1, 0}, .a = {}, .b = {}, .permutation = {}});
    EXPECT_EQ(found.outside, 5U);
    EXPECT_EQ(found.outside_at(0), 5U);
    EXPECT_EQ(found.outside_at(1), 4U);
    EXPECT_EQ(found.outside_at(2), 2U);
    EXPECT_EQ(found.outside_at(3), 1U);
    EXPECT_EQ(found.outside_at(4), 0U);
    EXPECT_EQ(found.outside_at(-1), 6U);
    EXPECT_EQ(found.outside_at(-2), 7U);
    EXPECT_EQ(found.tolerance_factor(1), 16);
    EXPECT_EQ(found.tolerance_factor(0.875), 8);
    EXPECT_EQ(found.tolerance_factor(0.25), 0.5);
    // Without any tolerance, equal zeros are within it.
    std::vector<float> a(100, 0);
    a[40] = 1;
    const Difference exact = compare(a, std::vector<float>(100, 0), {.tolerance = {0, 0}, .a = {}, .b = {}, .permutation = {}});
    EXPECT_EQ(exact.outside, 1U);
    EXPECT_EQ(exact.tolerance_histogram[0], 99U);
  });
}

TEST(Difference, UlpHistogramIsByPowersOfTwo) {
  const auto next = [](float value, int times) {
    for (int i = 0; i < times; ++i) value = std::nextafter(value, 2.0F);
    return value;
  };
  with_every_target([&] {
    const Difference found =
        compare<float>({1, next(1, 1), next(1, 2), next(1, 3), next(1, 4), next(1, 7), next(1, 8), 1.9F}, {1, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_EQ(found.ulp_histogram, (std::array<uint64_t, kUlpBins>{1, 1, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    // 2^52 of them.
    EXPECT_EQ(compare(std::vector<double>(32, 1), std::vector<double>(32, 2)).ulp_histogram[kUlpBins - 1], 32U);
    // From the smallest negative number to the smallest positive one.
    EXPECT_EQ(compare<float>({1e-45F}, {-1e-45F}).max_ulp, 2U);
    EXPECT_EQ(compare<double>({1.0}, {std::nextafter(1.0, 0.0)}).max_ulp, 1U);
    EXPECT_EQ(compare<float>({std::numeric_limits<float>::max()}, {std::numeric_limits<float>::lowest()}).max_ulp, 4278190078U);
  });
}

TEST(Difference, IntegersAreExact) {
  with_every_target([] {
    const int64_t large = int64_t{1} << 62;
    const Difference signed_ones = compare<int64_t>({large, -large, 5}, {large - 1, large, 5});
    EXPECT_EQ(signed_ones.max_abs, 0x1p63);
    EXPECT_EQ(signed_ones.max_ulp, uint64_t{1} << 63);
    EXPECT_EQ(signed_ones.differing, 2U);
    EXPECT_EQ(signed_ones.ulp_histogram[1], 1U);
    const uint64_t most = std::numeric_limits<uint64_t>::max();
    const Difference unsigned_ones = compare<uint64_t>({most, 0}, {most - 1, most});
    EXPECT_EQ(unsigned_ones.max_ulp, most);
    EXPECT_EQ(unsigned_ones.ulp_histogram[1], 1U);
    const Difference mixed = compare<uint64_t, int64_t>({most, 3}, {-1, -1});
    EXPECT_EQ(mixed.differing, 2U);
    EXPECT_EQ(mixed.max_ulp, most);  // one more than fits
    EXPECT_EQ(mixed.ulp_dtype, DType::kUndefined);
    const Difference bytes = compare<int8_t>({-128, 0}, {127, 0});
    EXPECT_EQ(bytes.max_abs, 255);
    EXPECT_EQ(bytes.max_ulp, 255U);
    EXPECT_EQ(compare<int32_t>({7}, {0}).max_rel, 7);
  });
}

TEST(Difference, OfDifferentTypesIsThatOfTheirValuesAndOfTheNarrowerType) {
  with_every_target([] {
    const std::vector<float> a = {1.0F, 1.001F, 1.02F, 3, -2.5F, 0.1F, 7, 8, 9};
    std::vector<uint16_t> b;
    for (const float value : a) b.push_back(float_to_bfloat16(value));
    b[2] = static_cast<uint16_t>(b[2] + 3);
    const TensorView brain{{DType::kBFloat16, Shape{9}}, b.data(), nullptr};
    const Difference found = compare(view_of(a), brain);
    EXPECT_EQ(found.ulp_dtype, DType::kBFloat16);
    EXPECT_EQ(found.max_ulp, 3U);
    EXPECT_EQ(found.ulp_histogram[0], 8U);
    EXPECT_EQ(found.differing, 3U);
    ASSERT_TRUE(found.narrowed.has_value());
    EXPECT_EQ(found.narrowed->dtype, DType::kBFloat16);
    EXPECT_EQ(found.narrowed->differing, 1U);
    EXPECT_EQ(found.narrowed->max_abs, 3 * 0x1p-7);
    double squares = 0;
    for (const uint16_t word : b) squares += std::pow(static_cast<double>(bfloat16_to_float(word)), 2);
    EXPECT_DOUBLE_EQ(found.narrowed->relative_l2, 3 * 0x1p-7 / std::sqrt(squares));
    EXPECT_FALSE(found.bit_equal);
    // The other way round.
    EXPECT_EQ(compare(brain, view_of(a)).max_ulp, 3U);
    const Difference with_integers = compare<float, int32_t>({1, 2.5F}, {1, 2});
    EXPECT_EQ(with_integers.max_abs, 0.5);
    EXPECT_FALSE(with_integers.narrowed.has_value());
  });
}

TEST(Difference, RoundsOnceToTheNarrowerType) {
  // Through float32 it would become a tie, and that the even one.
  const std::vector<double> a = {1 + 0x1p-8 - 0x1p-40};
  const std::vector<uint16_t> below = {float_to_bfloat16(1)};
  const std::vector<uint16_t> ties = {float_to_bfloat16(1 + 0x1p-7F)};
  const std::vector<double> above = {1 + 0x1p-8 + 0x1p-40};
  EXPECT_EQ(compare(view_of(a), {{DType::kBFloat16, Shape{1}}, below.data(), nullptr}).max_ulp, 0U);
  EXPECT_EQ(compare(view_of(above), {{DType::kBFloat16, Shape{1}}, ties.data(), nullptr}).max_ulp, 0U);
  // 448 is the largest of float8_e4m3fn, which has no infinity; 61440 is half a step above that of float8_e5m2, which has one.
  const std::vector<double> large = {1000, -17};
  const std::vector<uint8_t> largest = {0x7E, 0xD9};  // 448, -18
  EXPECT_EQ(compare(view_of(large), {{DType::kFloat8E4M3FN, Shape{2}}, largest.data(), nullptr}).max_ulp, 1U);
  const std::vector<double> beyond = {61440, 61439};
  const std::vector<uint8_t> e5m2 = {0x7B, 0x7B};
  const Difference found = compare(view_of(beyond), {{DType::kFloat8E5M2, Shape{2}}, e5m2.data(), nullptr});
  EXPECT_EQ(found.max_ulp, 1U);
  EXPECT_EQ(found.narrowed->differing, 1U);
}

TEST(Difference, QuantisedAgainstFloat) {
  with_every_target([] {
    const std::vector<uint8_t> a = {128, 130, 126, 255};
    const std::vector<float> b = {0, 1, -1, 63};
    const std::vector<double> scale = {0.5};
    const std::vector<int64_t> zero = {128};
    const Difference found = compare(a, b, {.tolerance = {}, .a = {scale, zero, 0}, .b = {}, .permutation = {}});
    EXPECT_FALSE(found.in_steps);
    EXPECT_EQ(found.differing, 1U);
    EXPECT_EQ(found.max_abs, 0.5);
    EXPECT_EQ(found.max_abs_at, 3U);
    EXPECT_DOUBLE_EQ(found.l2_b, std::sqrt(1 + 1 + 63.0 * 63.0));
  });
}

TEST(Difference, QuantisedByAxis) {
  const std::vector<int8_t> a = {1, 1, 1, 2, 2, 2};
  const std::vector<float> b = {1, 10, 100, 2, 20, 200};
  const std::vector<double> scales = {1, 10, 100};
  const TensorView view_a{{DType::kInt8, Shape{2, 3}}, a.data(), nullptr};
  const TensorView view_b{{DType::kFloat32, Shape{2, 3}}, b.data(), nullptr};
  EXPECT_EQ(compare(view_a, view_b, {.tolerance = {}, .a = {scales, {}, -1}, .b = {}, .permutation = {}}).differing, 0U);
  const std::vector<double> of_rows = {1, 2};
  const std::vector<int64_t> zeros = {0, 1};
  const std::vector<float> rows = {1, 1, 1, 2, 2, 2};
  const TensorView view_rows{{DType::kFloat32, Shape{2, 3}}, rows.data(), nullptr};
  EXPECT_EQ(compare(view_a, view_rows, {.tolerance = {}, .a = {of_rows, zeros, 0}, .b = {}, .permutation = {}}).differing, 0U);
}

TEST(Difference, TwoQuantisedTensorsAreComparedInSteps) {
  with_every_target([] {
    const std::vector<uint8_t> a = {128, 131, 128};
    const std::vector<uint8_t> b = {128, 130, 127};
    const std::vector<double> scale = {0.01};
    const std::vector<int64_t> zero = {126};
    const Quantization same{scale, zero, 0};
    const Difference found = compare(a, b, {.tolerance = {}, .a = same, .b = same, .permutation = {}});
    EXPECT_TRUE(found.in_steps);
    EXPECT_EQ(found.max_abs, 1);
    EXPECT_EQ(found.max_ulp, 1U);
    EXPECT_DOUBLE_EQ(found.relative_l2, std::sqrt(2.0 / (2 * 2 + 4 * 4 + 1)));
    // Equal ones, more than a vector.
    const std::vector<uint8_t> many(100, 128);
    EXPECT_EQ(compare(many, many, {.tolerance = {}, .a = same, .b = same, .permutation = {}}).l2_a, 20);
    // Other zero points, the same steps away from them.
    const std::vector<int64_t> other_zero = {125};
    const std::vector<uint8_t> moved = {127, 130, 127};
    EXPECT_EQ(compare(a, moved, {.tolerance = {}, .a = same, .b = {scale, other_zero, 0}, .permutation = {}}).differing, 0U);
    // Other scales: as real numbers.
    const std::vector<double> twice = {0.02};
    const std::vector<uint8_t> half = {127};
    const std::vector<uint8_t> whole = {128};
    const Difference reals = compare(whole, half, {.tolerance = {}, .a = same, .b = {twice, zero, 0}, .permutation = {}});
    EXPECT_FALSE(reals.in_steps);
    EXPECT_EQ(reals.differing, 0U);
    // The same bytes that mean something else.
    const Difference bytes = compare(whole, whole, {.tolerance = {}, .a = same, .b = {twice, zero, 0}, .permutation = {}});
    EXPECT_TRUE(bytes.bit_equal);
    EXPECT_EQ(bytes.differing, 1U);
  });
}

TEST(Difference, QuantisedByAnAxisWithOthersBehindIt) {
  const std::vector<int8_t> a = {1, 2, 1, 2, 1, 2};
  const std::vector<float> b = {1, 2, 10, 20, 100, 200};
  const std::vector<double> scales = {1, 10, 100};
  EXPECT_EQ(compare({{DType::kInt8, Shape{3, 2}}, a.data(), nullptr}, {{DType::kFloat32, Shape{3, 2}}, b.data(), nullptr},
                    {.tolerance = {}, .a = {scales, {}, 0}, .b = {}, .permutation = {}})
                .differing,
            0U);
}

// NCHW against NHWC, larger than a block.
TEST(Difference, ThroughAPermutation) {
  const int64_t channels = 7, height = 30, width = 41;
  std::vector<float> nhwc(static_cast<size_t>(channels * height * width));
  std::vector<float> nchw(nhwc.size());
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t h = 0; h < height; ++h) {
      for (int64_t w = 0; w < width; ++w) {
        const auto value = static_cast<float>((c * height + h) * width + w);
        nchw[static_cast<size_t>((c * height + h) * width + w)] = value;
        nhwc[static_cast<size_t>((h * width + w) * channels + c)] = value;
      }
    }
  }
  const TensorView a{{DType::kFloat32, Shape{1, height, width, channels}}, nhwc.data(), nullptr};
  const TensorView b{{DType::kFloat32, Shape{1, channels, height, width}}, nchw.data(), nullptr};
  const std::vector<int> order = {0, 2, 3, 1};
  with_every_target([&] {
    EXPECT_TRUE(compare(a, b, {.tolerance = {}, .a = {}, .b = {}, .permutation = order}).bit_equal);
    EXPECT_GT(compare(a, b).differing, 8000U);
  });
  nchw[static_cast<size_t>((2 * height + 20) * width + 3)] += 1;
  const Difference found = compare(a, b, {.tolerance = {}, .a = {}, .b = {}, .permutation = order});
  EXPECT_EQ(found.differing, 1U);
  EXPECT_EQ(found.first_differing, static_cast<uint64_t>((20 * width + 3) * channels + 2));
  // Scales of b's own axis are found in a's order.
  const std::vector<int8_t> q = {1, 2, 3, 4, 5, 6};
  const std::vector<float> reals = {1, 40, 2, 50, 3, 60};
  const std::vector<double> scales = {1, 10};
  const std::vector<int> transposed = {1, 0};
  EXPECT_EQ(compare({{DType::kFloat32, Shape{3, 2}}, reals.data(), nullptr}, {{DType::kInt8, Shape{2, 3}}, q.data(), nullptr},
                    {.tolerance = {}, .a = {}, .b = {scales, {}, 0}, .permutation = transposed})
                .differing,
            0U);
}

TEST(Difference, OfStridedViews) {
  const std::vector<float> a = {1, 9, 2, 9, 3, 9};
  const std::vector<float> b = {3, 2, 1};
  const std::array<int64_t, 1> every_second = {2};
  const std::array<int64_t, 1> backwards = {-1};
  EXPECT_TRUE(compare({{DType::kFloat32, Shape{3}}, a.data(), every_second.data()}, {{DType::kFloat32, Shape{3}}, &b[2], backwards.data()})
                  .bit_equal);
}

TEST(Difference, OfComplexNumbersIsThatOfTheirParts) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<float> b = {1, 2, 3, 4, 5, 7};
  const Difference found = compare({{DType::kComplex64, Shape{3}}, a.data(), nullptr}, {{DType::kComplex64, Shape{3}}, b.data(), nullptr});
  EXPECT_EQ(found.numel, 3U);
  EXPECT_EQ(found.compared, 6U);
  EXPECT_EQ(found.differing, 1U);
  EXPECT_EQ(found.first_differing, 2U);
  EXPECT_EQ(found.max_abs_at, 2U);
}

TEST(Difference, OfStridedComplexNumbersInSeveralBlocks) {
  const int64_t count = 5000;
  std::vector<float> packed(2 * count);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<float>(i);
  std::vector<float> spread(4 * count);
  for (size_t i = 0; i < packed.size(); ++i) spread[i / 2 * 4 + i % 2] = packed[i];
  const std::array<int64_t, 1> every_second = {2};
  const TensorView a{{DType::kComplex64, Shape{count}}, packed.data(), nullptr};
  const TensorView b{{DType::kComplex64, Shape{count}}, spread.data(), every_second.data()};
  EXPECT_TRUE(compare(a, b).bit_equal);
  spread[4 * 4321 + 1] += 1;
  EXPECT_EQ(compare(a, b).first_differing, 4321U);
}

TEST(Difference, OfStringsIsWhetherTheyAreEqual) {
  const std::vector<StringElement> a = {{"one", 3}, {"two", 3}, {"", 0}};
  const std::vector<StringElement> b = {{"one", 3}, {"too", 3}, {nullptr, 0}};
  const Difference found = compare({{DType::kString, Shape{3}}, a.data(), nullptr}, {{DType::kString, Shape{3}}, b.data(), nullptr});
  EXPECT_FALSE(found.bit_equal);
  EXPECT_EQ(found.differing, 1U);
  EXPECT_EQ(found.first_differing, 1U);
  EXPECT_TRUE(compare({{DType::kString, Shape{3}}, a.data(), nullptr}, {{DType::kString, Shape{3}}, a.data(), nullptr}).bit_equal);
}

TEST(Difference, IgnoresWhatFillsTheLastByte) {
  const std::array<uint8_t, 1> a = {0x31};
  const std::array<uint8_t, 1> b = {0xF1};
  const Difference found = compare({{DType::kInt4, Shape{1}}, a.data(), nullptr}, {{DType::kInt4, Shape{1}}, b.data(), nullptr});
  EXPECT_TRUE(found.bit_equal);
  EXPECT_EQ(found.l2_a, 1);
}

TEST(Difference, OfNumbersWhoseSquaresLeaveTheRangeOfDouble) {
  with_every_target([] {
    const std::vector<double> large = {1e300, -1e300, 1e300, 1e300, 1e300, 1e300, 1e300, 1e300, 3e300};
    std::vector<double> b = large;
    b[1] = 1e300;
    const Difference found = compare(large, b);
    EXPECT_EQ(found.finite, 9U);
    EXPECT_DOUBLE_EQ(found.l2_b, std::sqrt(17.0) * 1e300);
    EXPECT_DOUBLE_EQ(found.relative_l2, 2 / std::sqrt(17.0));
    std::vector<double> with_nan(64, 1e300);
    with_nan[7] = std::nan("");
    const Difference beside = compare(std::vector<double>(64, 1e300), with_nan);
    EXPECT_EQ(beside.finite, 63U);
    EXPECT_EQ(beside.differing, 1U);
    EXPECT_DOUBLE_EQ(beside.l2_b, std::sqrt(63.0) * 1e300);
    const Difference small = compare<double>({1e-300, 3e-300}, {1e-300, 4e-300});
    EXPECT_DOUBLE_EQ(small.relative_l2, 1 / std::sqrt(17.0));
    EXPECT_DOUBLE_EQ(compare(large, large).l2_a, std::sqrt(17.0) * 1e300);
  });
}

struct Refusal {
  std::string_view what;
  TensorView a;
  TensorView b;
  DifferenceOptions options;
  StatusCode code;
  std::string_view message;
};

TEST(Difference, RefusesWhatCanNotBeCompared) {
  const std::vector<float> data(8, 0);
  const std::vector<StringElement> strings(8);
  const auto view = [&](DType dtype, const Shape& shape) { return TensorView{{dtype, shape}, data.data(), nullptr}; };
  const TensorView plain = view(DType::kFloat32, {2, 3});
  const std::vector<int> twice = {0, 0};
  const std::vector<int> turned = {1, 0};
  const std::vector<double> scales = {1, 2};
  const std::vector<int64_t> zeros = {1, 2, 3};
  const ToleranceRule usual;
  const std::vector<Refusal> refusals = {
      {"sizes", plain, view(DType::kFloat32, {7}), {}, StatusCode::kInvalidArgument, "shapes [2, 3] and [7]"},
      {"no data", plain, {{DType::kFloat32, Shape{6}}, nullptr, nullptr}, {}, StatusCode::kInvalidArgument, "without data"},
      {"no type", plain, view(DType::kUndefined, {6}), {}, StatusCode::kInvalidArgument, "without a type"},
      {"strings", plain, {{DType::kString, Shape{6}}, strings.data(), nullptr}, {}, StatusCode::kInvalidArgument, "float32 cannot"},
      {"complex", plain, view(DType::kComplex64, {6}), {}, StatusCode::kInvalidArgument, "with complex64"},
      {"order", plain, plain, {usual, {}, {}, twice}, StatusCode::kInvalidArgument, "permutation [0, 0]"},
      {"shape", plain, plain, {usual, {}, {}, turned}, StatusCode::kInvalidArgument, "gives [3, 2], not [2, 3]"},
      {"packed", view(DType::kInt4, {3, 2}), view(DType::kInt4, {2, 3}), {usual, {}, {}, turned}, StatusCode::kUnsupported, "packed"},
      {"scales", plain, plain, {usual, {scales, {}, 1}, {}, {}}, StatusCode::kInvalidArgument, "2 scales do not match axis 1 of 3"},
      {"axis", plain, plain, {usual, {scales, {}, 2}, {}, {}}, StatusCode::kInvalidArgument, "axis 2"},
      {"zeros", plain, plain, {usual, {scales, zeros, 0}, {}, {}}, StatusCode::kInvalidArgument, "3 zero points"},
      {"tolerance", plain, plain, {{-1, 0}, {}, {}, {}}, StatusCode::kInvalidArgument, "tolerance"},
      {"no number", plain, plain, {{std::nan(""), 0}, {}, {}, {}}, StatusCode::kInvalidArgument, "tolerance"},
  };
  for (const Refusal& refusal : refusals) {
    const auto found = compare_tensors(refusal.a, refusal.b, refusal.options);
    ASSERT_FALSE(found.ok()) << refusal.what;
    EXPECT_EQ(found.status().code(), refusal.code) << refusal.what;
    EXPECT_NE(found.status().message().find(refusal.message), std::string::npos) << refusal.what << ": " << found.status().message();
  }
}

}  // namespace
}  // namespace tensortap
