#include "source/acl/element_kinds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "acl/acl.h"
#include "tensortap/capture.h"

namespace tensortap::acl_source {
namespace {

// The processor's own conversions are the reference.
TEST(AclHalf, EveryHalfIsTheProcessorsFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    _Float16 half = 0;
    const auto word = static_cast<uint16_t>(bits);
    __builtin_memcpy(&half, &word, sizeof half);
    const auto expected = static_cast<float>(half);
    const float actual = aclFloat16ToFloat(word);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(actual, expected) << bits;
      EXPECT_EQ(aclFloatToFloat16(actual), word) << bits;
    }
  }
}

TEST(AclHalf, EveryRoundingIsTheProcessors) {
  for (uint64_t bits = 0; bits <= 0xffffffffULL; bits += 997) {
    float value = 0;
    const auto word = static_cast<uint32_t>(bits);
    __builtin_memcpy(&value, &word, sizeof value);
    if (std::isnan(value)) continue;
    const auto half = static_cast<_Float16>(value);
    uint16_t expected = 0;
    __builtin_memcpy(&expected, &half, sizeof expected);
    ASSERT_EQ(aclFloatToFloat16(value), expected) << word;
  }
}

// Numbers of the interface's documentation, sizes of the types' names.
TEST(AclTypes, SizesAndNumbers) {
  struct Row {
    aclDataType type;
    size_t size;
    uint32_t dtype;
  };
  const Row rows[] = {{ACL_FLOAT, 4, TENSORTAP_FLOAT32},       {ACL_FLOAT16, 2, TENSORTAP_FLOAT16},
                      {ACL_INT8, 1, TENSORTAP_INT8},           {ACL_INT32, 4, TENSORTAP_INT32},
                      {ACL_UINT8, 1, TENSORTAP_UINT8},         {ACL_INT16, 2, TENSORTAP_INT16},
                      {ACL_UINT16, 2, TENSORTAP_UINT16},       {ACL_UINT32, 4, TENSORTAP_UINT32},
                      {ACL_INT64, 8, TENSORTAP_INT64},         {ACL_UINT64, 8, TENSORTAP_UINT64},
                      {ACL_DOUBLE, 8, TENSORTAP_FLOAT64},      {ACL_BOOL, 1, TENSORTAP_BOOL},
                      {ACL_COMPLEX64, 8, TENSORTAP_COMPLEX64}, {ACL_COMPLEX128, 16, TENSORTAP_COMPLEX128},
                      {ACL_BF16, 2, TENSORTAP_BFLOAT16}};
  for (const Row& row : rows) {
    EXPECT_EQ(aclDataTypeSize(row.type), row.size) << row.type;
    EXPECT_EQ(dtype_of(row.type), row.dtype) << row.type;
    EXPECT_EQ(acl_type_of(row.dtype), row.type) << row.type;
  }
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0U);
  EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(50)), 0U);
}

TEST(AclTypes, BytesOfTensorsDoNotWrap) {
  uint64_t bytes = 0;
  const int64_t dims[] = {2, 3};
  EXPECT_TRUE(tensor_bytes(ACL_INT4, dims, bytes));
  EXPECT_EQ(bytes, 3U);
  const int64_t open[] = {2, -1};
  EXPECT_FALSE(tensor_bytes(ACL_FLOAT, open, bytes));
  const int64_t huge[] = {INT64_MAX, INT64_MAX};
  EXPECT_FALSE(tensor_bytes(ACL_FLOAT, huge, bytes));
}

TEST(AclTensorDesc, TellsWhatItWasGiven) {
  const int64_t dims[] = {2, 3, 4, 5};
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT16, 4, dims, ACL_FORMAT_NCHW);
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescSize(desc), 240U);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 120U);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 4U);
  EXPECT_EQ(aclGetTensorDescDim(desc, 3), 5);
  int64_t dim = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 4, &dim), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 1, &dim), ACL_SUCCESS);
  EXPECT_EQ(dim, 3);
  aclTensorDesc* turned = nullptr;
  ASSERT_EQ(aclTransTensorDescFormat(desc, ACL_FORMAT_NHWC, &turned), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescDim(turned, 1), 4);
  EXPECT_EQ(aclGetTensorDescDim(turned, 3), 3);
  EXPECT_EQ(aclTransTensorDescFormat(desc, ACL_FORMAT_NC1HWC0, &turned), ACL_ERROR_FEATURE_UNSUPPORTED);
  aclDestroyTensorDesc(turned);
  aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 0U);
  aclDestroyTensorDesc(desc);
}

TEST(AclTensorDesc, RefusesWhatIsNoShape) {
  const int64_t bad[] = {2, -3};
  const int64_t rank[] = {-2};
  const int64_t mixed[] = {-2, 1};
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, bad, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, mixed, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, bad, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND), nullptr);
  aclTensorDesc* const unknown = aclCreateTensorDesc(ACL_FLOAT, 1, rank, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(unknown), ACL_UNKNOWN_RANK);
  EXPECT_EQ(aclGetTensorDescSize(unknown), 0U);
  aclDestroyTensorDesc(unknown);
}

}  // namespace
}  // namespace tensortap::acl_source
