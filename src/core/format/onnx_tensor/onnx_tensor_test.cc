// The files were made with onnx 1.22.

#include "format/onnx_tensor/onnx_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tensortap {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::HasSubstr;

Result<std::vector<NamedTensor>> decode(const Bytes& file) { return onnx_tensor_decode(std::as_bytes(std::span(file))); }

void expect_tensor(const Bytes& file, const TensorDesc& desc, const Bytes& data) {
  const auto tensors = decode(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 1U);
  const TensorView& view = (*tensors)[0].view;
  EXPECT_EQ(view.desc.dtype, desc.dtype);
  EXPECT_EQ(view.desc.shape, desc.shape);
  EXPECT_EQ(std::memcmp(view.data, data.data(), data.size()), 0);
}

std::vector<std::string> texts_of(const Bytes& file) {
  const auto tensors = decode(file);
  EXPECT_TRUE(tensors.ok()) << tensors.status().message();
  std::vector<std::string> texts;
  const auto* strings = static_cast<const StringElement*>((*tensors)[0].view.data);
  for (uint64_t i = 0; i < *(*tensors)[0].view.desc.shape.numel(); ++i) texts.emplace_back(strings[i].data, strings[i].size);
  return texts;
}

TEST(OnnxTensor, Int4OfTypedData) { expect_tensor({8, 3, 16, 22, 42, 3, 241, 1, 7, 66, 1, 120}, {DType::kInt4, {3}}, {241, 7}); }

TEST(OnnxTensor, HalvesOfTypedData) {
  expect_tensor({8, 2, 16, 10, 42, 5, 128, 120, 128, 128, 3, 66, 1, 120}, {DType::kFloat16, {2}}, {0, 60, 0, 192});
}

TEST(OnnxTensor, RawData) {
  expect_tensor({8, 2, 16, 1, 66, 1, 120, 74, 8, 0, 0, 128, 63, 0, 0, 0, 64}, {DType::kFloat32, {2}}, {0, 0, 128, 63, 0, 0, 0, 64});
}

TEST(OnnxTensor, ComplexOfTypedData) {
  expect_tensor({8, 1, 16, 14, 34, 8, 0, 0, 128, 63, 0, 0, 0, 64, 66, 1, 120}, {DType::kComplex64, {1}}, {0, 0, 128, 63, 0, 0, 0, 64});
}

TEST(OnnxTensor, Uint32OfTypedData) {
  expect_tensor({8, 2, 16, 12, 66, 1, 120, 90, 6, 1, 255, 255, 255, 255, 15}, {DType::kUInt32, {2}}, {1, 0, 0, 0, 255, 255, 255, 255});
}

TEST(OnnxTensor, Scalars) {
  expect_tensor({16, 11, 66, 1, 120, 82, 8, 0, 0, 0, 0, 0, 0, 4, 64}, {DType::kFloat64, {}}, {0, 0, 0, 0, 0, 0, 4, 64});
}

TEST(OnnxTensor, Strings) { EXPECT_THAT(texts_of({8, 2, 16, 8, 50, 2, 97, 98, 50, 0, 66, 1, 120}), testing::ElementsAre("ab", "")); }

TEST(OnnxTensor, ExternalDataIsRefusedInWords) {
  EXPECT_THAT(
      decode({8, 4, 16, 1, 106, 17, 10, 8, 108, 111, 99, 97, 116, 105, 111, 110, 18, 5, 119, 46, 98, 105, 110, 112, 1}).status().message(),
      HasSubstr("another file"));
}

TEST(OnnxTensor, WrongWireTypesAreCorrupt) {
  EXPECT_EQ(decode({8, 0, 17, 10, 66, 4, 108, 105, 107, 101}).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace tensortap
