// Headers and numbers as the real library writes them; files of all types are in tests/msit_trees_test.py.

#include "format/msit_bin/msit_bin_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "format/msit_bin/number_texts.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr const char* kFloatMost = "340282346638528859811704183484516925440.000000";

Result<MsitBinFile> parse(std::string_view text) { return parse_msit_bin(std::as_bytes(std::span(text)), text.size()); }

TensorStats stats_of(double max, double min, double mean, double l2) {
  TensorStats stats;
  stats.max = max;
  stats.min = min;
  stats.mean = mean;
  stats.l2 = l2;
  stats.count = 4;
  stats.valid = kStatMinimal;
  return stats;
}

TEST(MsitBinHeader, IsThatOfTheRealLibrary) {
  const auto text = make_msit_bin_header({.desc = {DType::kFloat32, {2, 2}}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "$Version=1.0\n$Object.Count=1\n$Object.Length=16\nformat=2\ndtype=0\ndims=2,2\n$Object.data=0,16\n$End=1\n");
  EXPECT_EQ(text->size(), 98U);
  const auto alone = make_msit_bin_header({.desc = {DType::kFloat32, {2, 2}}, .has_data = false});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->size(), 79U);
}

TEST(MsitBinHeader, OfATensorWithoutDimensionsHasOne) {
  EXPECT_THAT(*make_msit_bin_header({.desc = {DType::kInt8, Shape()}}), HasSubstr("\ndims=1\n"));
}

TEST(MsitBinHeader, HasStatisticsBehindTheShape) {
  TensorStats stats = stats_of(2, -1, 0.5, 3);
  const auto text = make_msit_bin_header({.desc = {DType::kFloat16, {4}}, .stats = &stats, .has_data = false});
  EXPECT_THAT(*text, HasSubstr("dims=4\nmax=2.000000\nmin=-1.000000\nmean=0.500000\nl2norm=3.000000\n$End=1\n"));
}

TEST(MsitBinHeader, OfATypeWithoutANumberIsRefused) {
  for (const DType dtype : {DType::kUInt4, DType::kInt2, DType::kUInt2, DType::kFloat8E4M3FNUZ, DType::kString, DType::kUndefined}) {
    EXPECT_EQ(make_msit_bin_header({.desc = {dtype, {1}}}).status().code(), StatusCode::kUnsupported) << dtype_name(dtype);
    EXPECT_FALSE(msit_bin_holds(dtype)) << dtype_name(dtype);
  }
}

// Observed of the real library: {NaN, 2, +Inf, 1e-7}; {-128, 127, 3, 4}; NaN alone; what it prints of types without numbers.
TEST(MsitNumbers, AreThoseOfTheRealLibrary) {
  TensorStats mixed = stats_of(kInf, 1e-7, kInf, kInf);
  mixed.nan = mixed.pos_inf = 1;
  EXPECT_THAT(msit_statistic_texts(mixed, DType::kFloat32), ElementsAre("inf", "0.000000", "nan", "nan"));
  TensorStats bytes = stats_of(127, -128, 1.5, std::sqrt(32538.0));
  bytes.max_integer = 127;
  bytes.min_integer = -128;
  EXPECT_THAT(msit_statistic_texts(bytes, DType::kInt8), ElementsAre("127", "-128", "1.500000", "180.382926"));
  TensorStats nothing = stats_of(kNan, kNan, kNan, kNan);
  nothing.nan = nothing.count;
  EXPECT_THAT(msit_statistic_texts(nothing, DType::kBFloat16), ElementsAre(std::string("-") + kFloatMost, kFloatMost, "nan", "nan"));
  for (const DType dtype : {DType::kBool, DType::kComplex128, DType::kString}) {
    EXPECT_THAT(msit_statistic_texts(stats_of(1, 0, 1, 1), dtype), ElementsAre("N/A", "N/A", "N/A", "N/A"));
  }
  EXPECT_THAT(msit_statistic_texts(stats_of(1, 0, 1, 2), DType::kComplex64), ElementsAre("N/A", "N/A", "N/A", "2.000000"));
}

TEST(MsitNumbers, KeepEveryBitOfIntegers) {
  TensorStats stats = stats_of(1.8446744073709552e19, 1, 2, 3);
  stats.max_integer = -1;
  stats.min_integer = 1;
  EXPECT_EQ(msit_statistic_texts(stats, DType::kUInt64)[0], "18446744073709551615");
  TensorStats read;
  read_msit_statistic(0, "18446744073709551615", DType::kUInt64, read);
  EXPECT_EQ(read.max_integer, -1);
  EXPECT_EQ(read.valid, kStatMax);
}

TEST(MsitNumbers, DoNotObeyTheLocaleOfTheProgram) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no such locale here";
  EXPECT_EQ(msit_statistic_texts(stats_of(1.5, 0, 0, 0), DType::kFloat32)[0], "1.500000");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(MsitNumbers, ComeBackAsTheyWereWritten) {
  const std::pair<DType, std::array<std::string_view, 4>> cases[] = {
      {DType::kFloat32, {"9.750000", "-10.000000", "0.298828", "67.245353"}},
      {DType::kFloat32, {kFloatMost, "-inf", "nan", "inf"}},
      {DType::kFloat16, {"-340282346638528859811704183484516925440.000000", kFloatMost, "nan", "nan"}},
      {DType::kInt64, {"9007199254740993", "-9223372036854775808", "12345678901.123455", "0.000001"}},
      {DType::kBool, {"N/A", "N/A", "N/A", "N/A"}},
  };
  for (const auto& [dtype, texts] : cases) {
    TensorStats stats;
    for (size_t i = 0; i < texts.size(); ++i) read_msit_statistic(i, texts[i], dtype, stats);
    finish_msit_statistics(dtype, stats);
    const auto again = msit_statistic_texts(stats, dtype);
    EXPECT_TRUE(std::ranges::equal(again, texts)) << again[0] << again[1] << again[2] << again[3];
  }
}

TEST(MsitBinReader, TakesLinesInAnyOrderWithAnyEndsAndPaddingBehind) {
  const auto file = parse("unknown=7\r\n$Object.other=0,1\r\ndims=3\r\n$Object.data=2,3\r\ndtype=2\r\n$End=1\r\n..abc.......");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->desc.dtype, DType::kInt8);
  EXPECT_EQ(file->desc.shape, Shape({3}));
  EXPECT_TRUE(file->has_data);
  EXPECT_EQ(file->bytes_there, 3U);
  EXPECT_EQ(file->left_over, 7U);
}

TEST(MsitBinReader, TakesAFileOfThreeLines) {
  const auto file = parse("dtype=0\ndims=1,1\n$End=1\nabcd");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->data_bytes, 4U);
  EXPECT_EQ(file->bytes_there, 4U);
}

TEST(MsitBinReader, TakesScalarsOfTheRealLibrary) { EXPECT_EQ(parse("dtype=0\ndims=\n$End=1\nabcd")->desc.shape, Shape()); }

TEST(MsitBinReader, GivesTypesThatAreNotOursAsBytes) {
  EXPECT_EQ(parse("dtype=33\ndims=2\n$End=1\n12345678")->desc.shape, Shape({2, 2}));  // complex32: pairs of float16
  EXPECT_EQ(parse("dtype=34\ndims=2\n$End=1\n12")->desc.dtype, DType::kUInt8);        // hifloat8: its bits
  const auto packed = parse("dtype=38\ndims=4\n$End=1\n123");                         // float6_e3m2
  EXPECT_EQ(packed->desc.shape, Shape({3}));
  EXPECT_EQ(packed->bytes_there, 3U);
  EXPECT_EQ(parse("$Object.Count=0\ndtype=99\ndims=4\n$End=1\n")->desc.dtype, DType::kUndefined);
}

TEST(MsitBinReader, KnowsHowMuchIsThereOfACutFile) {
  const auto file = parse("$Object.data=0,16\ndtype=0\ndims=2,2\n$End=1\n123456");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->data_bytes, 16U);
  EXPECT_EQ(file->bytes_there, 6U);
}

}  // namespace
}  // namespace tensortap
