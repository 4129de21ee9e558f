// Comparison of random tensors of every type against a plain loop in long double that knows nothing of blocks and kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "compare/compare_tensors.h"
#include "compare/difference.h"
#include "compare/every_target.h"
#include "tensor/dtype.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr ToleranceRule kTolerance{1e-6, 1e-4};

// The real and imaginary parts of one element, or one number; integers to the last bit.
struct Number {
  long double value = 0;
  int64_t place = 0;  // in the order of the type's values; of floating types up to 64 bits
};

uint64_t bits_at(const std::byte* data, uint64_t index, unsigned bits) {
  uint64_t value = 0;
  if (bits >= 8) {
    std::memcpy(&value, data + index * (bits / 8), bits / 8);
    return value;
  }
  const unsigned per_byte = 8 / bits;
  return (static_cast<unsigned>(data[index / per_byte]) >> (bits * (index % per_byte))) & ((1U << bits) - 1);
}

Number number_at(DType dtype, const std::byte* data, uint64_t index) {
  const DTypeInfo& info = dtype_info(dtype);
  Number number;
  if (info.kind == DTypeKind::kFloat) {
    double value = 0;
    to_float64(dtype, data, index, 1, &value);
    number.value = static_cast<long double>(value);
    const uint64_t raw = bits_at(data, index, info.bits);
    const uint64_t sign = dtype == DType::kFloat8E8M0 ? 0 : uint64_t{1} << (info.bits - 1U);
    number.place = (raw & sign) != 0 ? -static_cast<int64_t>(raw ^ sign) : static_cast<int64_t>(raw);
    return number;
  }
  int64_t value = 0;
  to_int64(dtype, data, index, 1, &value);
  number.value = dtype == DType::kUInt64 ? static_cast<long double>(static_cast<uint64_t>(value)) : static_cast<long double>(value);
  return number;
}

struct Case {
  DType dtype = DType::kUndefined;
  uint64_t count = 0;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
};

struct Reference {
  Difference counts;
  long double squares_a = 0, squares_b = 0, products = 0, squares = 0, sum = 0, distances = 0;
};

bool is_finite(const Number& number) { return std::isfinite(number.value); }

void add_nonfinite(double a, double b, uint64_t at, Difference& counts) {
  const auto count = [](double value, NonFiniteCounts& side) {
    side.nan += std::isnan(value);
    side.pos_inf += std::isinf(value) && value > 0;
    side.neg_inf += std::isinf(value) && value < 0;
  };
  count(a, counts.nonfinite_a);
  count(b, counts.nonfinite_b);
  counts.both_nan += std::isnan(a) && std::isnan(b);
  if ((std::isnan(a) && std::isnan(b)) || a == b) {
    ++counts.within_1e_3;
    ++counts.within_5e_3;
    ++counts.ulp_histogram[0];
    ++counts.tolerance_histogram[0];
    return;
  }
  ++counts.differing;
  ++counts.nonfinite_differing;
  ++counts.tolerance_histogram[63];
  if (!counts.first_differing) counts.first_differing = at;
  if (!counts.first_nonfinite_differing) counts.first_nonfinite_differing = at;
}

size_t tolerance_bin(double distance, double b) {
  const double tolerance = std::abs(kTolerance.relative * b) + kTolerance.absolute;
  size_t bin = 0;
  while (bin < 63 && distance > std::ldexp(tolerance, static_cast<int>(bin) - 31)) ++bin;
  return distance == 0 ? 0 : bin;
}

uint64_t distance_in_places(const Number& a, const Number& b, bool is_float) {
  if (!is_float) return static_cast<uint64_t>(std::abs(a.value - b.value));
  return a.place > b.place ? static_cast<uint64_t>(a.place) - static_cast<uint64_t>(b.place)
                           : static_cast<uint64_t>(b.place) - static_cast<uint64_t>(a.place);
}

void add_finite(const Number& a, const Number& b, uint64_t at, bool is_float, double tiny, Reference& reference) {
  Difference& counts = reference.counts;
  // Subtracted in the type that it is reported in: rounded once.
  const double difference = is_float ? static_cast<double>(a.value) - static_cast<double>(b.value) : static_cast<double>(a.value - b.value);
  const double distance = std::abs(difference);
  const double size = std::max(std::abs(static_cast<double>(b.value)), tiny);
  ++counts.finite;
  counts.differing += a.value != b.value;
  if (a.value != b.value && !counts.first_differing) counts.first_differing = at;
  counts.within_1e_3 += distance / size < 1e-3;
  counts.within_5e_3 += distance / size < 5e-3;
  counts.zero_a_only += a.value == 0 && b.value != 0;
  counts.zero_b_only += b.value == 0 && a.value != 0;
  if (distance > counts.max_abs) counts.max_abs = distance, counts.max_abs_at = at;
  if (distance / size > counts.max_rel) counts.max_rel = distance / size, counts.max_rel_at = at;
  const uint64_t ulp = distance_in_places(a, b, is_float);
  counts.max_ulp = std::max(counts.max_ulp, ulp);
  size_t ulp_bin = 0;
  while (ulp_bin < 15 && (ulp >> ulp_bin) != 0) ++ulp_bin;
  ++counts.ulp_histogram[ulp_bin];
  ++counts.tolerance_histogram[tolerance_bin(distance, static_cast<double>(b.value))];
  reference.squares_a += a.value * a.value;
  reference.squares_b += b.value * b.value;
  reference.products += a.value * b.value;
  reference.squares += (a.value - b.value) * (a.value - b.value);
  reference.sum += a.value - b.value;
  reference.distances += std::abs(a.value - b.value);
}

Reference refer(const Case& tested) {
  const DTypeInfo& info = dtype_info(tested.dtype);
  DType dtype = tested.dtype;
  uint64_t parts = 1;
  if (info.kind == DTypeKind::kComplex) {
    dtype = info.bits == 64 ? DType::kFloat32 : DType::kFloat64;
    parts = 2;
  }
  const bool is_float = dtype_info(dtype).kind == DTypeKind::kFloat;
  const double tiny = is_float ? float_limits(dtype).smallest_normal : 1.0;
  Reference reference;
  for (uint64_t i = 0; i < tested.count * parts; ++i) {
    const Number a = number_at(dtype, tested.a, i);
    const Number b = number_at(dtype, tested.b, i);
    if (is_finite(a) && is_finite(b)) {
      add_finite(a, b, i / parts, is_float, tiny, reference);
    } else {
      add_nonfinite(static_cast<double>(a.value), static_cast<double>(b.value), i / parts, reference.counts);
    }
  }
  return reference;
}

void expect_near(const char* name, long double expected, double actual, double bound = 1e-12) {
  const auto narrow = static_cast<double>(expected);
  if (!std::isfinite(narrow)) {
    EXPECT_EQ(narrow, actual) << name;
  } else {
    EXPECT_NEAR(narrow, actual, bound * std::abs(narrow)) << name;
  }
}

void expect_counts(const Difference& expected, const Difference& actual) {
  EXPECT_EQ(expected.finite, actual.finite);
  EXPECT_EQ(expected.differing, actual.differing);
  EXPECT_EQ(expected.first_differing, actual.first_differing);
  EXPECT_EQ(expected.max_abs, actual.max_abs);
  EXPECT_EQ(expected.max_abs_at, actual.max_abs_at);
  EXPECT_EQ(expected.max_rel, actual.max_rel);
  EXPECT_EQ(expected.max_rel_at, actual.max_rel_at);
  EXPECT_EQ(expected.max_ulp, actual.max_ulp);
  EXPECT_EQ(expected.ulp_histogram, actual.ulp_histogram);
  EXPECT_EQ(expected.tolerance_histogram, actual.tolerance_histogram);
  EXPECT_EQ(expected.within_1e_3, actual.within_1e_3);
  EXPECT_EQ(expected.within_5e_3, actual.within_5e_3);
  EXPECT_EQ(expected.nonfinite_a.nan, actual.nonfinite_a.nan);
  EXPECT_EQ(expected.nonfinite_a.pos_inf, actual.nonfinite_a.pos_inf);
  EXPECT_EQ(expected.nonfinite_a.neg_inf, actual.nonfinite_a.neg_inf);
  EXPECT_EQ(expected.nonfinite_b.nan, actual.nonfinite_b.nan);
  EXPECT_EQ(expected.nonfinite_b.pos_inf, actual.nonfinite_b.pos_inf);
  EXPECT_EQ(expected.nonfinite_b.neg_inf, actual.nonfinite_b.neg_inf);
  EXPECT_EQ(expected.both_nan, actual.both_nan);
  EXPECT_EQ(expected.nonfinite_differing, actual.nonfinite_differing);
  EXPECT_EQ(expected.first_nonfinite_differing, actual.first_nonfinite_differing);
  EXPECT_EQ(expected.zero_a_only, actual.zero_a_only);
  EXPECT_EQ(expected.zero_b_only, actual.zero_b_only);
}

void expect_as_reference(const Reference& reference, const Difference& actual) {
  expect_counts(reference.counts, actual);
  if (reference.counts.finite == 0) return;
  const auto finite = static_cast<long double>(reference.counts.finite);
  expect_near("mean_abs", reference.distances / finite, actual.mean_abs);
  EXPECT_NEAR(static_cast<double>(reference.sum / finite), actual.mean, 1e-12 * actual.mean_abs);
  expect_near("mse", reference.squares / finite, actual.mse);
  expect_near("rmse", std::sqrt(reference.squares / finite), actual.rmse);
  expect_near("l2_a", std::sqrt(reference.squares_a), actual.l2_a);
  expect_near("l2_b", std::sqrt(reference.squares_b), actual.l2_b);
  if (reference.squares_b > 0) {
    expect_near("relative_l2", std::sqrt(reference.squares / reference.squares_b), actual.relative_l2);
    if (reference.squares_a > 0) {
      const long double cosine = reference.products / std::sqrt(reference.squares_a) / std::sqrt(reference.squares_b);
      EXPECT_NEAR(static_cast<double>(cosine), actual.cosine, 1e-12);
    }
  }
}

void expect_every_target_as_reference(const Case& tested) {
  const Reference reference = refer(tested);
  const Shape shape{static_cast<int64_t>(tested.count)};
  with_every_target([&] {
    const auto actual = compare_tensors({{tested.dtype, shape}, tested.a, nullptr}, {{tested.dtype, shape}, tested.b, nullptr},
                                        {.tolerance = kTolerance, .a = {}, .b = {}, .permutation = {}});
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    expect_as_reference(reference, *actual);
  });
}

std::vector<DType> numeric_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (static_cast<DType>(i) != DType::kString) dtypes.push_back(static_cast<DType>(i));
  }
  return dtypes;
}

enum class Pattern { kBits, kNumbers, kClose, kFewDiffer, kManyZeros };
constexpr Pattern kPatterns[] = {Pattern::kBits, Pattern::kNumbers, Pattern::kClose, Pattern::kFewDiffer, Pattern::kManyZeros};

// Numbers of ordinary size, by the bits of the type.
void store_number(DType dtype, double value, uint64_t index, std::byte* data) {
  const auto put = [&](auto number) { std::memcpy(data + index * sizeof(number), &number, sizeof(number)); };
  switch (dtype) {
    case DType::kFloat32:
      return put(static_cast<float>(value));
    case DType::kFloat64:
      return put(value);
    case DType::kFloat16:
      return put(float_to_float16(static_cast<float>(value)));
    case DType::kBFloat16:
      return put(float_to_bfloat16(static_cast<float>(value)));
    default:
      break;
  }
}

void fill(DType dtype, Pattern pattern, uint64_t bytes, std::mt19937_64& random, std::vector<std::byte>& data) {
  for (uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  const bool has_numbers = dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  if (pattern == Pattern::kBits || !has_numbers) return;
  std::normal_distribution<double> normal(0.1, 3);
  const uint64_t count = bytes * 8 / dtype_info(dtype).bits;
  for (uint64_t i = 0; i < count; ++i) {
    const double value = normal(random);
    store_number(dtype, pattern == Pattern::kManyZeros && value < 0 ? 0 : value, i, data.data());
  }
}

// b from a, by pattern.
void vary(DType dtype, Pattern pattern, uint64_t bytes, std::mt19937_64& random, std::vector<std::byte>& data) {
  if (bytes == 0 || pattern == Pattern::kBits) return fill(dtype, Pattern::kBits, bytes, random, data);
  if (pattern == Pattern::kNumbers || pattern == Pattern::kManyZeros) return fill(dtype, pattern, bytes, random, data);
  const uint64_t changes = pattern == Pattern::kClose ? bytes / 3 + 1 : 2;
  const uint64_t unit = std::max<uint64_t>(dtype_info(dtype).bits / 8, 1);
  // The lowest byte of an element.
  for (uint64_t i = 0; i < changes; ++i) data[random() % bytes / unit * unit] ^= static_cast<std::byte>(random() % 4);
}

void test_random(DType dtype, Pattern pattern, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t bytes = packed_bytes(dtype, count).value_or(0);
  const uint64_t offset = random() % 9;
  std::vector<std::byte> a(bytes);
  fill(dtype, pattern, bytes, random, a);
  std::vector<std::byte> b = a;
  vary(dtype, pattern, bytes, random, b);
  // At addresses of any alignment; the memory ends where the tensor does, which a sanitizer checks.
  std::vector<std::byte> at_a(offset);
  std::vector<std::byte> at_b(offset / 2);
  at_a.insert(at_a.end(), a.begin(), a.end());
  at_b.insert(at_b.end(), b.begin(), b.end());
  SCOPED_TRACE(concat(dtype_name(dtype), " pattern ", static_cast<int>(pattern), " of ", count, " seed ", seed));
  expect_every_target_as_reference({dtype, count, at_a.data() + offset, at_b.data() + offset / 2});
}

TEST(DifferenceRandom, EveryTypeAndPatternAroundTheLimitsOfBlocksAndVectors) {
  uint64_t seed = 1;
  for (const DType dtype : numeric_dtypes()) {
    for (const Pattern pattern : kPatterns) {
      for (const uint64_t count : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 511, 512, 513, 2049, 4095, 4096, 4097, 9001}) {
        test_random(dtype, pattern, count, seed++);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(DifferenceRandom, AnyLength) {
  std::mt19937_64 random(7);
  const std::vector<DType> dtypes = numeric_dtypes();
  for (uint64_t round = 0; round < 60; ++round) {
    test_random(dtypes[random() % dtypes.size()], kPatterns[random() % 5], 1 + random() % 20000, random());
    if (::testing::Test::HasFailure()) return;
  }
}

// A maximum that grows from block to block is looked for in each of them.
TEST(DifferenceRandom, GrowingDifferences) {
  std::vector<float> a(20000);
  std::vector<float> b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i) * 1.001F;
    b[i] = static_cast<float>(i);
  }
  expect_every_target_as_reference(
      {DType::kFloat32, a.size(), reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data())});
}

}  // namespace
}  // namespace tensortap
