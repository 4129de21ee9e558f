// Field numbers of the messages in DumpData files. They differ between inputs and outputs.

#ifndef TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FIELDS_H_
#define TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FIELDS_H_

#include <array>
#include <cstdint>

namespace tensortap::dump_data_fields {

enum MessageField : uint32_t {
  kDumpVersion = 1,
  kDumpTime = 2,
  kDumpOutput = 3,
  kDumpInput = 4,
  kDumpBuffer = 5,
  kDumpOpName = 6,
  kDumpAttribute = 7,
  kDumpSpace = 8,
  kDumpFailure = 9,
};
enum OriginField : uint32_t { kOriginName = 1, kOriginOutput = 2, kOriginType = 3, kOriginFormat = 4 };
enum AttributeField : uint32_t { kAttributeName = 1, kAttributeValue = 2 };
inline constexpr uint32_t kShapeDim = 1;

enum class TensorFieldKind : uint8_t {
  kNone,
  kType,
  kFormat,
  kShape,
  kOriginalShape,
  kOrigin,
  kData,
  kSize,
  kSubFormat,
  kAddress,
  kOffset,
  kArgIndex,
  kInputType,
};

// By field number.
inline constexpr std::array kOutputFields = {TensorFieldKind::kNone,    TensorFieldKind::kType,          TensorFieldKind::kFormat,
                                             TensorFieldKind::kShape,   TensorFieldKind::kOrigin,        TensorFieldKind::kData,
                                             TensorFieldKind::kSize,    TensorFieldKind::kOriginalShape, TensorFieldKind::kSubFormat,
                                             TensorFieldKind::kAddress, TensorFieldKind::kNone,          TensorFieldKind::kOffset,
                                             TensorFieldKind::kArgIndex};
inline constexpr std::array kInputFields = {TensorFieldKind::kNone,          TensorFieldKind::kType,      TensorFieldKind::kFormat,
                                            TensorFieldKind::kShape,         TensorFieldKind::kData,      TensorFieldKind::kSize,
                                            TensorFieldKind::kOriginalShape, TensorFieldKind::kSubFormat, TensorFieldKind::kAddress,
                                            TensorFieldKind::kOffset,        TensorFieldKind::kArgIndex,  TensorFieldKind::kInputType};
// Of buffers and workspaces: what kind they are is of no use to anybody.
inline constexpr std::array kSpaceFields = {TensorFieldKind::kNone, TensorFieldKind::kNone, TensorFieldKind::kData, TensorFieldKind::kSize,
                                            TensorFieldKind::kArgIndex};

}  // namespace tensortap::dump_data_fields

#endif  // TENSORTAP_FORMAT_DUMP_DATA_DUMP_DATA_FIELDS_H_
