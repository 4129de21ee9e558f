#include "source/pytorch/memory/left_values.h"

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tensortap::pytorch {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Buffer {
  std::array<float, 12> values{};
  std::array<int64_t, 2> dims = {3, 4};
  std::array<int64_t, 2> strides = {4, 1};

  [[nodiscard]] tensortap_torch_tensor tensor() const {
    tensortap_torch_tensor tensor{};
    tensor.data = values.data();
    tensor.dims = dims.data();
    tensor.strides = strides.data();
    tensor.rank = 2;
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.kind = TENSORTAP_TORCH_STRIDED;
    return tensor;
  }
};

TEST(LeftValues, WhatWasThereBeforeIsLeft) {
  Buffer buffer{{1, kNan, 2, kInf, 3, -kInf}};
  LeftValues left;
  left.note(buffer.tensor());
  EXPECT_TRUE(left.are_all_in(buffer.tensor())) << "nothing was written";
  buffer.values = {5, 6, 7, kInf, 3, 8};
  EXPECT_TRUE(left.are_all_in(buffer.tensor())) << "written in part";
}

TEST(LeftValues, WhatIsNewWasMade) {
  Buffer buffer{{kNan, kNan, 2}};
  LeftValues left;
  left.note(buffer.tensor());
  buffer.values[2] = kNan;
  EXPECT_FALSE(left.are_all_in(buffer.tensor())) << "one more";
  buffer.values = {kNan, -kNan};
  EXPECT_FALSE(left.are_all_in(buffer.tensor())) << "other bits";
  buffer.values = {kInf, kNan};
  EXPECT_FALSE(left.are_all_in(buffer.tensor()));
}

TEST(LeftValues, FiniteValuesAreNeitherLeftNorMade) {
  Buffer buffer{{kNan}};
  LeftValues left;
  left.note(buffer.tensor());
  buffer.values[0] = 1;
  EXPECT_FALSE(left.are_all_in(buffer.tensor()));
  Buffer finite;
  left.note(finite.tensor());
  finite.values[3] = kNan;
  EXPECT_FALSE(left.are_all_in(finite.tensor()));
}

TEST(LeftValues, LooksAtTheElementsOfTheTensorAlone) {
  Buffer buffer{{1, kNan, 2, 3, 4, kNan}};
  buffer.dims = {2, 2};
  buffer.strides = {4, 2};
  LeftValues left;
  left.note(buffer.tensor());
  EXPECT_FALSE(left.are_all_in(buffer.tensor())) << "no element of it holds any";
  buffer.strides = {1, 4};
  left.note(buffer.tensor());
  buffer.values[2] = kNan;
  EXPECT_TRUE(left.are_all_in(buffer.tensor()));
  left.clear();
  EXPECT_FALSE(left.are_all_in(buffer.tensor()));
}

TEST(LeftValues, NarrowTypesAreKnown) {
  std::array<uint16_t, 2> values = {0x7fc0, 0x3f80};
  const std::array<int64_t, 1> dims = {2};
  tensortap_torch_tensor tensor{};
  tensor.data = values.data();
  tensor.dims = dims.data();
  tensor.rank = 1;
  tensor.dtype = TENSORTAP_BFLOAT16;
  tensor.kind = TENSORTAP_TORCH_STRIDED;
  LeftValues left;
  left.note(tensor);
  EXPECT_TRUE(left.are_all_in(tensor));
  values[1] = 0xff80;
  EXPECT_FALSE(left.are_all_in(tensor));
}

}  // namespace
}  // namespace tensortap::pytorch
