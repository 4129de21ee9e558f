// Element types: names, sizes and kinds, one table row each.
//
// The numbers are those of enum tensortap_dtype (include/tensortap/capture.h); files contain them.

#ifndef TENSORTAP_TENSOR_DTYPE_H_
#define TENSORTAP_TENSOR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tensortap {

enum class DType : uint8_t {
  kUndefined = 0,
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat16 = 10,
  kBFloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kFloat8E4M3FN = 16,
  kFloat8E4M3FNUZ = 17,
  kFloat8E5M2 = 18,
  kFloat8E5M2FNUZ = 19,
  kFloat8E8M0 = 20,
  kInt4 = 21,
  kUInt4 = 22,
  kInt2 = 23,
  kUInt2 = 24,
  kUInt1 = 25,
  kFloat4E2M1 = 26,
  kString = 27,
};
inline constexpr int kDTypeCount = 28;

enum class DTypeKind : uint8_t { kNone, kBool, kSigned, kUnsigned, kFloat, kComplex, kString };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // NumPy's or ml_dtypes' name: "float32", "bfloat16", "float8_e4m3fn", "int4"
  DTypeKind kind;
  uint8_t bits;                  // of one element; 0 for string and undefined
  std::string_view numpy_descr;  // "<f4"; for types NumPy cannot name the raw bits' type ("<u2", "|u1"), with is_raw_in_numpy
  bool is_raw_in_numpy;
  int8_t onnx;  // TensorProto.DataType, 0 = ONNX has none
};

// The row of a dtype; numbers that are no dtype (from hostile files) give the row of kUndefined.
const DTypeInfo& dtype_info(DType dtype);
inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
std::optional<DType> dtype_from_name(std::string_view name);
// kUndefined when ONNX has no such number or we have no such type.
DType dtype_from_onnx(int onnx);
// Exact descr of a npy header ("<f4", "|b1", ">i8"); byte order other than little is nothing.
std::optional<DType> dtype_from_numpy(std::string_view descr);

// Bytes that `numel` elements take when packed; nothing for string, undefined, and on overflow.
std::optional<uint64_t> packed_bytes(DType dtype, uint64_t numel);

inline bool is_floating(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind == DTypeKind::kFloat || kind == DTypeKind::kComplex;
}

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_DTYPE_H_
