#include "tensor/dtype.h"

#include <algorithm>
#include <array>

namespace tensortap {
namespace {

using enum DTypeKind;

// In the order of the numbers: row i describes the dtype i.
constexpr std::array<DTypeInfo, kDTypeCount> kTable = {{
    {DType::kUndefined, "undefined", kNone, 0, "", false, 0},
    {DType::kBool, "bool", kBool, 8, "|b1", false, 9},
    {DType::kInt8, "int8", kSigned, 8, "|i1", false, 3},
    {DType::kInt16, "int16", kSigned, 16, "<i2", false, 5},
    {DType::kInt32, "int32", kSigned, 32, "<i4", false, 6},
    {DType::kInt64, "int64", kSigned, 64, "<i8", false, 7},
    {DType::kUInt8, "uint8", kUnsigned, 8, "|u1", false, 2},
    {DType::kUInt16, "uint16", kUnsigned, 16, "<u2", false, 4},
    {DType::kUInt32, "uint32", kUnsigned, 32, "<u4", false, 12},
    {DType::kUInt64, "uint64", kUnsigned, 64, "<u8", false, 13},
    {DType::kFloat16, "float16", kFloat, 16, "<f2", false, 10},
    {DType::kBFloat16, "bfloat16", kFloat, 16, "<u2", true, 16},
    {DType::kFloat32, "float32", kFloat, 32, "<f4", false, 1},
    {DType::kFloat64, "float64", kFloat, 64, "<f8", false, 11},
    {DType::kComplex64, "complex64", kComplex, 64, "<c8", false, 14},
    {DType::kComplex128, "complex128", kComplex, 128, "<c16", false, 15},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", kFloat, 8, "|u1", true, 17},
    {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", kFloat, 8, "|u1", true, 18},
    {DType::kFloat8E5M2, "float8_e5m2", kFloat, 8, "|u1", true, 19},
    {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", kFloat, 8, "|u1", true, 20},
    {DType::kFloat8E8M0, "float8_e8m0", kFloat, 8, "|u1", true, 24},
    {DType::kInt4, "int4", kSigned, 4, "|u1", true, 22},
    {DType::kUInt4, "uint4", kUnsigned, 4, "|u1", true, 21},
    {DType::kInt2, "int2", kSigned, 2, "|u1", true, 26},
    {DType::kUInt2, "uint2", kUnsigned, 2, "|u1", true, 25},
    {DType::kUInt1, "uint1", kUnsigned, 1, "|u1", true, 0},
    {DType::kFloat4E2M1, "float4_e2m1", kFloat, 4, "|u1", true, 23},
    {DType::kString, "string", DTypeKind::kString, 0, "", false, 8},
}};

struct Alias {
  std::string_view name;
  DType dtype;
};

// ml_dtypes' names where ours are shorter.
constexpr std::array kAliases = {Alias{"float8_e8m0fnu", DType::kFloat8E8M0}, Alias{"float4_e2m1fn", DType::kFloat4E2M1}};

constexpr int kMostOnnx = std::ranges::max(kTable, {}, &DTypeInfo::onnx).onnx;

// ONNX's numbers, in their order.
constexpr auto kFromOnnx = [] {
  std::array<DType, kMostOnnx + 1> dtypes{};
  for (const DTypeInfo& info : kTable) {
    if (info.onnx != 0) dtypes[static_cast<size_t>(info.onnx)] = info.dtype;
  }
  return dtypes;
}();

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  return kTable[number < kTable.size() ? number : 0];
}

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto row = std::ranges::find(kTable.begin() + 1, kTable.end(), name, &DTypeInfo::name);
  if (row != kTable.end()) return row->dtype;
  const auto alias = std::ranges::find(kAliases, name, &Alias::name);
  if (alias != kAliases.end()) return alias->dtype;
  return std::nullopt;
}

DType dtype_from_onnx(int onnx) { return onnx < 0 || onnx > kMostOnnx ? DType::kUndefined : kFromOnnx[static_cast<size_t>(onnx)]; }

std::optional<DType> dtype_from_numpy(std::string_view descr) {
  if (descr.empty()) return std::nullopt;
  const auto row = std::ranges::find_if(kTable, [&](const DTypeInfo& info) { return !info.is_raw_in_numpy && info.numpy_descr == descr; });
  if (row != kTable.end()) return row->dtype;
  return std::nullopt;
}

std::optional<uint64_t> packed_bytes(DType dtype, uint64_t numel) {
  const uint64_t bits = dtype_info(dtype).bits;
  if (bits == 0) return std::nullopt;
  if (bits < 8) return numel / (8 / bits) + (numel % (8 / bits) != 0 ? 1 : 0);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(numel, bits / 8, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace tensortap
