#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

#include "tensortap/capture.h"

namespace tensortap {
namespace {

// M23
TEST(DType, RowsStandInTheOrderOfTheirNumbersWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(static_cast<int>(dtype_info(static_cast<DType>(i)).dtype), i);
    EXPECT_TRUE(names.insert(dtype_name(static_cast<DType>(i))).second) << i;
  }
  EXPECT_EQ(kDTypeCount, TENSORTAP_DTYPE_COUNT);
  EXPECT_EQ(static_cast<int>(DType::kString), TENSORTAP_STRING);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E8M0), TENSORTAP_FLOAT8_E8M0);
}

TEST(DType, NumbersOfHostileFilesAreUndefined) {
  EXPECT_EQ(dtype_info(static_cast<DType>(28)).dtype, DType::kUndefined);
  EXPECT_EQ(dtype_info(static_cast<DType>(255)).bits, 0);
  EXPECT_EQ(dtype_from_onnx(-1), DType::kUndefined);
  EXPECT_EQ(dtype_from_onnx(0), DType::kUndefined);
  EXPECT_EQ(dtype_from_onnx(99), DType::kUndefined);
}

TEST(DType, NamesAreFoundAndMlDtypesNamesToo) {
  for (int i = 1; i < kDTypeCount; ++i) EXPECT_EQ(dtype_from_name(dtype_name(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_EQ(dtype_from_name("float8_e8m0fnu"), DType::kFloat8E8M0);
  EXPECT_EQ(dtype_from_name("float4_e2m1fn"), DType::kFloat4E2M1);
  EXPECT_EQ(dtype_from_name("undefined"), std::nullopt);
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

// The numbers of TensorProto.DataType, copied from onnx.proto of ONNX 1.22.
TEST(DType, OnnxNumbers) {
  EXPECT_EQ(dtype_from_onnx(1), DType::kFloat32);
  EXPECT_EQ(dtype_from_onnx(2), DType::kUInt8);
  EXPECT_EQ(dtype_from_onnx(3), DType::kInt8);
  EXPECT_EQ(dtype_from_onnx(4), DType::kUInt16);
  EXPECT_EQ(dtype_from_onnx(5), DType::kInt16);
  EXPECT_EQ(dtype_from_onnx(6), DType::kInt32);
  EXPECT_EQ(dtype_from_onnx(7), DType::kInt64);
  EXPECT_EQ(dtype_from_onnx(8), DType::kString);
  EXPECT_EQ(dtype_from_onnx(9), DType::kBool);
  EXPECT_EQ(dtype_from_onnx(10), DType::kFloat16);
  EXPECT_EQ(dtype_from_onnx(11), DType::kFloat64);
  EXPECT_EQ(dtype_from_onnx(12), DType::kUInt32);
  EXPECT_EQ(dtype_from_onnx(13), DType::kUInt64);
  EXPECT_EQ(dtype_from_onnx(14), DType::kComplex64);
  EXPECT_EQ(dtype_from_onnx(15), DType::kComplex128);
  EXPECT_EQ(dtype_from_onnx(16), DType::kBFloat16);
  EXPECT_EQ(dtype_from_onnx(17), DType::kFloat8E4M3FN);
  EXPECT_EQ(dtype_from_onnx(18), DType::kFloat8E4M3FNUZ);
  EXPECT_EQ(dtype_from_onnx(19), DType::kFloat8E5M2);
  EXPECT_EQ(dtype_from_onnx(20), DType::kFloat8E5M2FNUZ);
  EXPECT_EQ(dtype_from_onnx(21), DType::kUInt4);
  EXPECT_EQ(dtype_from_onnx(22), DType::kInt4);
  EXPECT_EQ(dtype_from_onnx(23), DType::kFloat4E2M1);
  EXPECT_EQ(dtype_from_onnx(24), DType::kFloat8E8M0);
  EXPECT_EQ(dtype_from_onnx(25), DType::kUInt2);
  EXPECT_EQ(dtype_from_onnx(26), DType::kInt2);
}

TEST(DType, NumpyDescriptionsNameTheTypeThatNumpyWouldRead) {
  EXPECT_EQ(dtype_from_numpy("<f4"), DType::kFloat32);
  EXPECT_EQ(dtype_from_numpy("|u1"), DType::kUInt8);
  EXPECT_EQ(dtype_from_numpy("<u2"), DType::kUInt16);
  EXPECT_EQ(dtype_from_numpy("<c16"), DType::kComplex128);
  EXPECT_EQ(dtype_from_numpy(">i8"), std::nullopt);
  EXPECT_EQ(dtype_from_numpy(""), std::nullopt);
  EXPECT_EQ(dtype_info(DType::kBFloat16).numpy_descr, "<u2");
  EXPECT_TRUE(dtype_info(DType::kBFloat16).is_raw_in_numpy);
}

TEST(DType, PackedBytesRoundUpAndRefuseOverflow) {
  EXPECT_EQ(packed_bytes(DType::kInt4, 3), 2U);
  EXPECT_EQ(packed_bytes(DType::kUInt2, 5), 2U);
  EXPECT_EQ(packed_bytes(DType::kUInt1, 0), 0U);
  EXPECT_EQ(packed_bytes(DType::kUInt1, 9), 2U);
  EXPECT_EQ(packed_bytes(DType::kUInt1, UINT64_MAX), (uint64_t{1} << 61));
  EXPECT_EQ(packed_bytes(DType::kComplex128, 2), 32U);
  EXPECT_EQ(packed_bytes(DType::kFloat64, uint64_t{1} << 61), std::nullopt);
  EXPECT_EQ(packed_bytes(DType::kString, 1), std::nullopt);
  EXPECT_EQ(packed_bytes(DType::kUndefined, 1), std::nullopt);
}

}  // namespace
}  // namespace tensortap
