// M23: every bit pattern of every small format, against the tables that tools/make_number_tables.py made with ml_dtypes and NumPy.

#include "tensor/number_formats.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/files.h"

namespace tensortap {
namespace {

std::string read_table(std::string_view name) {
  auto table = read_file(join_path(join_path(TENSORTAP_TESTDATA, "golden/numbers"), name));
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? *table : "";
}

std::vector<float> read_floats(std::string_view name) {
  const std::string bytes = read_table(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Bit by bit, so that -0 differs from 0; all NaN are alike.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// Every pattern of `bits` bits in order, packed.
std::vector<uint8_t> all_patterns(uint32_t bits) {
  std::vector<uint8_t> packed((uint64_t{1} << bits) * bits / 8 + 1);
  for (uint32_t pattern = 0; pattern < (1U << bits); ++pattern) {
    for (uint32_t bit = 0; bit < bits; ++bit) {
      const uint32_t position = pattern * bits + bit;
      packed[position / 8] = static_cast<uint8_t>(packed[position / 8] | (((pattern >> bit) & 1U) << (position % 8)));
    }
  }
  return packed;
}

class SmallFormat : public testing::TestWithParam<DType> {};

TEST_P(SmallFormat, EveryPatternHasTheValueThatMlDtypesGivesIt) {
  const DTypeInfo& info = dtype_info(GetParam());
  const std::vector<float> expected = read_floats(std::string(info.name) + ".bin");
  ASSERT_EQ(expected.size(), size_t{1} << info.bits);
  const std::vector<uint8_t> packed = all_patterns(info.bits);
  std::vector<double> doubles(expected.size());
  std::vector<float> floats(expected.size());
  to_float64(info.dtype, packed.data(), 0, expected.size(), doubles.data());
  to_float32(info.dtype, packed.data(), 0, expected.size(), floats.data());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same(doubles[i], static_cast<double>(expected[i]))) << "pattern " << i << ": " << doubles[i] << " is not " << expected[i];
    ASSERT_TRUE(same(static_cast<double>(floats[i]), static_cast<double>(expected[i]))) << "pattern " << i;
    double real = 0;
    double imaginary = 1;
    to_complex128(info.dtype, packed.data(), i, real, imaginary);
    ASSERT_TRUE(same(real, doubles[i]) && imaginary == 0);
    if (info.kind == DTypeKind::kFloat) continue;
    int64_t integer = 99;
    to_int64(info.dtype, packed.data(), i, 1, &integer);
    ASSERT_EQ(static_cast<float>(integer), expected[i]) << "pattern " << i;
  }
}

// The limits are what the values of all patterns say.
TEST_P(SmallFormat, LimitsAreThoseOfTheTable) {
  const DTypeInfo& info = dtype_info(GetParam());
  if (info.kind != DTypeKind::kFloat) return;
  double largest = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (const float value : read_floats(std::string(info.name) + ".bin")) {
    if (!std::isfinite(value) || value <= 0) continue;
    largest = std::max(largest, static_cast<double>(value));
    smallest = std::min(smallest, static_cast<double>(value));
  }
  EXPECT_EQ(float_limits(info.dtype).largest, largest);
  EXPECT_EQ(float_limits(info.dtype).smallest, smallest);
}

INSTANTIATE_TEST_SUITE_P(All, SmallFormat,
                         testing::Values(DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                                         DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0, DType::kFloat4E2M1, DType::kInt4,
                                         DType::kUInt4, DType::kInt2, DType::kUInt2, DType::kUInt1),
                         [](const auto& parameter) { return std::string(dtype_name(parameter.param)); });

TEST(NumberFormats, SmallestNormalValues) {
  // ml_dtypes.finfo(...).smallest_normal
  EXPECT_EQ(float_limits(DType::kFloat16).smallest_normal, 6.103515625e-05);
  EXPECT_EQ(float_limits(DType::kBFloat16).smallest_normal, 1.1754943508222875e-38);
  EXPECT_EQ(float_limits(DType::kFloat8E4M3FN).smallest_normal, 0.015625);
  EXPECT_EQ(float_limits(DType::kFloat8E4M3FNUZ).smallest_normal, 0.0078125);
  EXPECT_EQ(float_limits(DType::kFloat8E5M2).smallest_normal, 6.103515625e-05);
  EXPECT_EQ(float_limits(DType::kFloat8E5M2FNUZ).smallest_normal, 3.0517578125e-05);
  EXPECT_EQ(float_limits(DType::kFloat4E2M1).smallest_normal, 1);
  EXPECT_EQ(float_limits(DType::kInt32).largest, 0);
}

TEST(NumberFormats, RoundingToHalvesIsNumPysAndMlDtypes) {
  const std::string rows = read_table("rounding.bin");
  ASSERT_GT(rows.size(), 100000U);
  for (size_t i = 0; i + 8 <= rows.size(); i += 8) {
    float value;
    std::array<uint16_t, 2> bits;
    std::memcpy(&value, rows.data() + i, 4);
    std::memcpy(bits.data(), rows.data() + i + 4, 4);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(value))));
      EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value))));
      continue;
    }
    ASSERT_EQ(float_to_float16(value), bits[0]) << value;
    ASSERT_EQ(float_to_bfloat16(value), bits[1]) << value;
  }
}

TEST(NumberFormats, WideTypesBooleansAndRanges) {
  const std::array<uint8_t, 4> booleans = {0, 1, 7, 255};
  std::array<double, 4> values{};
  to_float64(DType::kBool, booleans.data(), 0, 4, values.data());
  EXPECT_EQ(values, (std::array<double, 4>{0, 1, 1, 1}));
  const std::array<uint64_t, 2> large = {UINT64_MAX, uint64_t{1} << 53};
  to_float64(DType::kUInt64, large.data(), 0, 2, values.data());
  EXPECT_EQ(values[0], 18446744073709551616.0);
  EXPECT_EQ(values[1], 9007199254740992.0);
  int64_t integer = 0;
  to_int64(DType::kUInt64, large.data(), 0, 1, &integer);
  EXPECT_EQ(integer, -1);
  const std::array<int16_t, 3> small = {-5, 6, -32768};
  to_float64(DType::kInt16, small.data(), 1, 2, values.data());
  EXPECT_EQ(values[0], 6);
  EXPECT_EQ(values[1], -32768);
}

TEST(NumberFormats, DataOfAnyAlignment) {
  std::array<char, 17> bytes{};
  const double value = -1.5;
  std::memcpy(bytes.data() + 1, &value, 8);
  std::memcpy(bytes.data() + 9, &value, 8);
  std::array<double, 2> values{};
  to_float64(DType::kFloat64, bytes.data() + 1, 0, 2, values.data());
  EXPECT_EQ(values, (std::array<double, 2>{-1.5, -1.5}));
}

TEST(NumberFormats, ComplexNumbers) {
  const std::array<float, 4> parts = {1, -2, 3.5F, 4};
  double real = 0;
  double imaginary = 0;
  to_complex128(DType::kComplex64, parts.data(), 1, real, imaginary);
  EXPECT_EQ(real, 3.5);
  EXPECT_EQ(imaginary, 4);
}

TEST(NumberFormats, TwoBitElementsGoFourToAByteLowBitsFirst) {
  const std::array<int8_t, 5> elements = {1, -1, -2, 0, 1};
  std::array<uint8_t, 2> packed = {0xff, 0xff};
  pack_elements(elements.data(), elements.size(), 2, packed.data());
  EXPECT_EQ(packed, (std::array<uint8_t, 2>{0b00101101, 0b00000001}));
}

TEST(NumberFormats, EveryScaleOfE8m0ComesBack) {
  for (int scale = 0; scale < 255; ++scale) EXPECT_EQ(float_to_float8_e8m0(std::ldexp(1.0F, scale - 127)), scale);
  EXPECT_EQ(float_to_float8_e8m0(std::numeric_limits<float>::quiet_NaN()), 255);
}

}  // namespace
}  // namespace tensortap
