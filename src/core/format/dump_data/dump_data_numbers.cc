#include "format/dump_data/dump_data_numbers.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tensortap {
namespace {

using Form = DumpDataForm;

constexpr std::array kDumpDataTypes = {
    DumpDataType{0, -1, "DT_UNDEFINED", DType::kInt8, Form::kBytes, false},
    DumpDataType{1, 0, "DT_FLOAT", DType::kFloat32, Form::kSame, true},
    DumpDataType{2, 1, "DT_FLOAT16", DType::kFloat16, Form::kSame, true},
    DumpDataType{3, 2, "DT_INT8", DType::kInt8, Form::kSame, true},
    DumpDataType{4, 4, "DT_UINT8", DType::kUInt8, Form::kSame, true},
    DumpDataType{5, 6, "DT_INT16", DType::kInt16, Form::kSame, true},
    DumpDataType{6, 7, "DT_UINT16", DType::kUInt16, Form::kSame, true},
    DumpDataType{7, 3, "DT_INT32", DType::kInt32, Form::kSame, true},
    DumpDataType{8, 9, "DT_INT64", DType::kInt64, Form::kSame, true},
    DumpDataType{9, 8, "DT_UINT32", DType::kUInt32, Form::kSame, true},
    DumpDataType{10, 10, "DT_UINT64", DType::kUInt64, Form::kSame, true},
    DumpDataType{11, 12, "DT_BOOL", DType::kBool, Form::kSame, true},
    DumpDataType{12, 11, "DT_DOUBLE", DType::kFloat64, Form::kSame, true},
    DumpDataType{13, 13, "DT_STRING", DType::kUInt8, Form::kBytes, false},
    DumpDataType{14, 14, "DT_DUAL_SUB_INT8", DType::kInt8, Form::kSame, false},
    DumpDataType{15, 15, "DT_DUAL_SUB_UINT8", DType::kUInt8, Form::kSame, false},
    DumpDataType{16, 16, "DT_COMPLEX64", DType::kComplex64, Form::kSame, true},
    DumpDataType{17, 17, "DT_COMPLEX128", DType::kComplex128, Form::kSame, true},
    DumpDataType{18, 18, "DT_QINT8", DType::kInt8, Form::kSame, false},
    DumpDataType{19, 19, "DT_QINT16", DType::kInt16, Form::kSame, false},
    DumpDataType{20, 20, "DT_QINT32", DType::kInt32, Form::kSame, false},
    DumpDataType{21, 21, "DT_QUINT8", DType::kUInt8, Form::kSame, false},
    DumpDataType{22, 22, "DT_QUINT16", DType::kUInt16, Form::kSame, false},
    DumpDataType{23, 23, "DT_RESOURCE", DType::kUInt8, Form::kBytes, false},
    DumpDataType{24, 24, "DT_STRING_REF", DType::kUInt8, Form::kBytes, false},
    DumpDataType{25, 25, "DT_DUAL", DType::kUInt8, Form::kBytes, false},
    DumpDataType{26, 26, "DT_VARIANT", DType::kUInt8, Form::kBytes, false},
    DumpDataType{27, 27, "DT_BF16", DType::kBFloat16, Form::kSame, true},
    DumpDataType{28, 29, "DT_INT4", DType::kInt4, Form::kSame, true},
    DumpDataType{29, 30, "DT_UINT1", DType::kUInt1, Form::kSame, true},
    DumpDataType{30, 31, "DT_INT2", DType::kInt2, Form::kSame, true},
    DumpDataType{31, 32, "DT_UINT2", DType::kUInt2, Form::kSame, true},
    DumpDataType{32, 33, "DT_COMPLEX32", DType::kFloat16, Form::kPairs, false},
    DumpDataType{33, 34, "DT_HIFLOAT8", DType::kUInt8, Form::kSame, false},
    DumpDataType{34, 35, "DT_FLOAT8_E5M2", DType::kFloat8E5M2, Form::kSame, true},
    DumpDataType{35, 36, "DT_FLOAT8_E4M3FN", DType::kFloat8E4M3FN, Form::kSame, true},
    DumpDataType{36, 37, "DT_FLOAT8_E8M0", DType::kFloat8E8M0, Form::kSame, true},
    DumpDataType{37, 38, "DT_FLOAT6_E3M2", DType::kUInt8, Form::kBytes, false},
    DumpDataType{38, 39, "DT_FLOAT6_E2M3", DType::kUInt8, Form::kBytes, false},
    DumpDataType{39, 40, "DT_FLOAT4_E2M1", DType::kFloat4E2M1, Form::kSame, true},
    DumpDataType{40, 41, "DT_FLOAT4_E1M2", DType::kUInt8, Form::kBytes, false},
    DumpDataType{41, -1, "DT_HIFLOAT4", DType::kUInt8, Form::kBytes, false},
    DumpDataType{42, -1, "DT_HIFLOAT4_SCALE", DType::kUInt8, Form::kBytes, false},
};

constexpr std::array<std::string_view, 55> kDumpDataFormats = {"NCHW",
                                                               "NHWC",
                                                               "ND",
                                                               "NC1HWC0",
                                                               "FRACTAL_Z",
                                                               "NC1C0HWPAD",
                                                               "NHWC1C0",
                                                               "FSR_NCHW",
                                                               "FRACTAL_DECONV",
                                                               "C1HWNC0",
                                                               "FRACTAL_DECONV_TRANSPOSE",
                                                               "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                                               "NC1HWC0_C04",
                                                               "FRACTAL_Z_C04",
                                                               "CHWN",
                                                               "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                                               "HWCN",
                                                               "NC1KHKWHWC0",
                                                               "BN_WEIGHT",
                                                               "FILTER_HWCK",
                                                               "HASHTABLE_LOOKUP_LOOKUPS",
                                                               "HASHTABLE_LOOKUP_KEYS",
                                                               "HASHTABLE_LOOKUP_VALUE",
                                                               "HASHTABLE_LOOKUP_OUTPUT",
                                                               "HASHTABLE_LOOKUP_HITS",
                                                               "C1HWNCoC0",
                                                               "MD",
                                                               "NDHWC",
                                                               "FRACTAL_ZZ",
                                                               "FRACTAL_NZ",
                                                               "NCDHW",
                                                               "DHWCN",
                                                               "NDC1HWC0",
                                                               "FRACTAL_Z_3D",
                                                               "CN",
                                                               "NC",
                                                               "DHWNC",
                                                               "FRACTAL_Z_3D_TRANSPOSE",
                                                               "FRACTAL_ZN_LSTM",
                                                               "FRACTAL_Z_G",
                                                               "RESERVED",
                                                               "ALL",
                                                               "NULL",
                                                               "ND_RNN_BIAS",
                                                               "FRACTAL_ZN_RNN",
                                                               "YUV",
                                                               "YUV_A",
                                                               "NCL",
                                                               "FRACTAL_Z_WINO",
                                                               "C1HWC0",
                                                               "FRACTAL_NZ_C0_16",
                                                               "FRACTAL_NZ_C0_32",
                                                               "FRACTAL_NZ_C0_2",
                                                               "FRACTAL_NZ_C0_4",
                                                               "FRACTAL_NZ_C0_8"};
constexpr int32_t kFormatMax = 255;

}  // namespace

const DumpDataType* find_dump_data_type(int64_t number) {
  const auto* found = std::ranges::find(kDumpDataTypes, number, &DumpDataType::number);
  return found == kDumpDataTypes.end() ? nullptr : found;
}

const DumpDataType* dump_data_type_of(DType dtype) {
  const auto* found = std::ranges::find_if(kDumpDataTypes, [dtype](const DumpDataType& row) { return row.is_ours && row.dtype == dtype; });
  return found == kDumpDataTypes.end() ? nullptr : found;
}

int32_t dump_data_type_from_ge(int64_t number) {
  if (number < 0) return 0;
  const auto* found = std::ranges::find(kDumpDataTypes, number, &DumpDataType::ge);
  return found == kDumpDataTypes.end() ? 0 : found->number;
}

int32_t image_format(const TensorDesc& desc) {
  if (!is_floating(desc.dtype)) return kFormatNd;
  return desc.shape.rank() == 4 ? kFormatNchw : desc.shape.rank() == 5 ? kFormatNcdhw : kFormatNd;
}

std::string_view dump_data_format_name(int64_t number) {
  if (number == kFormatMax) return "MAX";
  if (number < 0 || number >= static_cast<int64_t>(kDumpDataFormats.size())) return {};
  return kDumpDataFormats[static_cast<size_t>(number)];
}

std::optional<int32_t> dump_data_format_number(std::string_view name) {
  const std::string lower = to_lower(name);
  for (size_t i = 0; i < kDumpDataFormats.size(); ++i) {
    if (to_lower(kDumpDataFormats[i]) == lower) return static_cast<int32_t>(i);
  }
  return std::nullopt;
}

}  // namespace tensortap
