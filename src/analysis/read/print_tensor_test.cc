// Expected texts are NumPy 2.4's array2string of the same arrays.

#include "read/print_tensor.h"
#include "stats/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tensortap {
namespace {

std::string print(const TensorDesc& desc, const void* data) { return print_tensor(whole_tensor({desc, data, nullptr})); }

TEST(PrintTensor, ShortestDigits) {
  const std::vector<uint8_t> values = {205, 204, 204, 61, 0, 0, 128, 63, 0, 0, 32, 192, 171, 170, 170, 62};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat32, {4}}, data), "[ 0.1         1.         -2.5         0.33333334]");
}

TEST(PrintTensor, WideRangesAreScientific) {
  const std::vector<uint8_t> values = {189, 55, 134, 53, 0, 0, 128, 63, 0, 32, 241, 71};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat32, {3}}, data), "[1.00000e-06 1.00000e+00 1.23456e+05]");
}

TEST(PrintTensor, NonFinite) {
  const std::vector<uint8_t> values = {0, 0, 192, 127, 0, 0, 192, 63, 0, 0, 128, 255, 0, 0, 128, 127};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat32, {4}}, data), "[ nan  1.5 -inf  inf]");
}

TEST(PrintTensor, Halves) {
  const std::vector<uint8_t> values = {102, 46, 0, 64, 208, 99};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat16, {3}}, data), "[1.e-01 2.e+00 1.e+03]");
}

TEST(PrintTensor, LinesAreWrapped) {
  const std::vector<uint8_t> values = {0, 0, 0,   0,  0, 0, 160, 63, 0, 0, 32,  64, 0, 0, 112, 64, 0, 0, 160, 64, 0, 0, 200, 64,
                                       0, 0, 240, 64, 0, 0, 12,  65, 0, 0, 32,  65, 0, 0, 52,  65, 0, 0, 72,  65, 0, 0, 92,  65,
                                       0, 0, 112, 65, 0, 0, 130, 65, 0, 0, 140, 65, 0, 0, 150, 65, 0, 0, 160, 65, 0, 0, 170, 65,
                                       0, 0, 180, 65, 0, 0, 190, 65, 0, 0, 200, 65, 0, 0, 210, 65, 0, 0, 220, 65, 0, 0, 230, 65,
                                       0, 0, 240, 65, 0, 0, 250, 65, 0, 0, 2,   66, 0, 0, 7,   66, 0, 0, 12,  66, 0, 0, 17,  66};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat32, {30}}, data),
            "[ 0.    1.25  2.5   3.75  5.    6.25  7.5   8.75 10.   11.25 12.5  13.75\n"
            " 15.   16.25 17.5  18.75 20.   21.25 22.5  23.75 25.   26.25 27.5  28.75\n"
            " 30.   31.25 32.5  33.75 35.   36.25]");
}

TEST(PrintTensor, ThreeDimensions) {
  const std::vector<uint8_t> values = {251, 255, 255, 255, 252, 255, 255, 255, 253, 255, 255, 255, 254, 255, 255, 255,
                                       255, 255, 255, 255, 0,   0,   0,   0,   1,   0,   0,   0,   2,   0,   0,   0,
                                       3,   0,   0,   0,   4,   0,   0,   0,   5,   0,   0,   0,   6,   0,   0,   0};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kInt32, {2, 3, 2}}, data),
            "[[[-5 -4]\n"
            "  [-3 -2]\n"
            "  [-1  0]]\n"
            "\n"
            " [[ 1  2]\n"
            "  [ 3  4]\n"
            "  [ 5  6]]]");
}

TEST(PrintTensor, LargeOnesAreAbbreviated) {
  std::vector<int32_t> values(2400);
  std::iota(values.begin(), values.end(), 0);
  const void* data = values.data();
  EXPECT_EQ(print({DType::kInt32, {40, 60}}, data),
            "[[   0    1    2 ...   57   58   59]\n"
            " [  60   61   62 ...  117  118  119]\n"
            " [ 120  121  122 ...  177  178  179]\n"
            " ...\n"
            " [2220 2221 2222 ... 2277 2278 2279]\n"
            " [2280 2281 2282 ... 2337 2338 2339]\n"
            " [2340 2341 2342 ... 2397 2398 2399]]");
}

TEST(PrintTensor, Booleans) {
  const std::vector<uint8_t> values = {1, 0, 0, 0};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kBool, {2, 2}}, data),
            "[[ True False]\n"
            " [False False]]");
}

TEST(PrintTensor, Complex) {
  const std::vector<uint8_t> values = {0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 0, 191, 111, 18, 131, 186};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kComplex64, {2}}, data), "[ 1. +2.e+00j -0.5-1.e-03j]");
}

TEST(PrintTensor, Scalars) {
  const std::vector<uint8_t> values = {0, 0, 0, 0, 0, 0, 4, 64};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat64, {}}, data), "2.5");
}

TEST(PrintTensor, Empty) {
  const std::vector<uint8_t> values = {};
  const void* data = values.data();
  EXPECT_EQ(print({DType::kFloat32, {0, 3}}, data), "[]");
}

class SliceTensor : public testing::Test {
 protected:
  SliceTensor() { std::iota(values_.begin(), values_.end(), 0); }
  std::string at(std::string_view text) {
    const auto slice = slice_tensor({{DType::kInt32, {2, 3, 4}}, values_.data(), nullptr}, text);
    return slice.ok() ? print_tensor(*slice) : slice.status().message();
  }
  std::vector<int32_t> values_ = std::vector<int32_t>(24);
};

TEST_F(SliceTensor, ChoosesAsNumPyDoes) {
  EXPECT_EQ(at("0,1,2"), "6");
  EXPECT_EQ(at("1,-1"), "[20 21 22 23]");
  EXPECT_EQ(at("...,0"), "[[ 0  4  8]\n [12 16 20]]");
  EXPECT_EQ(at(":,0,1:3"), "[[ 1  2]\n [13 14]]");
  EXPECT_EQ(at("0,0,::-1"), "[3 2 1 0]");
  EXPECT_EQ(at("0,0,::2"), "[0 2]");
  EXPECT_EQ(at("0,0,-3:-1"), "[1 2]");
  EXPECT_EQ(at("0,0,3:1"), "[]");
  EXPECT_EQ(at("0,0,-9:99"), "[0 1 2 3]");
  EXPECT_EQ(at("0,0,9223372036854775807::9223372036854775807"), "[]");
}

TEST_F(SliceTensor, SaysWhatIsWrong) {
  EXPECT_THAT(at("2"), testing::HasSubstr("index 2 is outside dimension 0, which has 2 elements"));
  EXPECT_THAT(at("0,0,0,0"), testing::HasSubstr("4 indices for a tensor of 3 dimensions"));
  EXPECT_THAT(at("a"), testing::HasSubstr("neither a number"));
  EXPECT_THAT(at("0:1:0"), testing::HasSubstr("is 0"));
  EXPECT_THAT(at("...,..."), testing::HasSubstr("more than once"));
}

TEST(PrintTensor, PackedNumbers) {
  const std::vector<uint8_t> values = {0xf1, 0x07};  // 1, -1, 7 of four bits each
  EXPECT_EQ(print({DType::kInt4, {3}}, values.data()), "[ 1 -1  7]");
}

TEST(ElementText, IsTheShortestThatReadsBack) {
  const std::vector<float> values = {0.1F, 1e-7F, 3, -0.0F};
  const TensorView view{{DType::kFloat32, {4}}, values.data(), nullptr};
  EXPECT_EQ(element_text(view, 0), "0.1");
  EXPECT_EQ(element_text(view, 1), "1e-07");
  EXPECT_EQ(element_text(view, 2), "3.0");
  EXPECT_EQ(element_text(view, 3), "-0.0");
}

}  // namespace
}  // namespace tensortap
