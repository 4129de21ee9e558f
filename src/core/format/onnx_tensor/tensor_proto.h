// One TensorProto of ONNX, taken apart: for the format onnx-tensor and for everything that reads models.

#ifndef TENSORTAP_FORMAT_ONNX_TENSOR_TENSOR_PROTO_H_
#define TENSORTAP_FORMAT_ONNX_TENSOR_TENSOR_PROTO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// Field numbers of TensorProto (onnx.proto).
namespace tensor_field {
inline constexpr uint32_t kDims = 1, kDataType = 2, kSegment = 3, kFloatData = 4, kInt32Data = 5, kStringData = 6, kInt64Data = 7,
                          kName = 8, kRawData = 9, kDoubleData = 10, kUint64Data = 11, kDocString = 12, kExternalData = 13,
                          kDataLocation = 14, kMetadata = 16;
}

// Where the elements are when they are not in the TensorProto.
struct ExternalLocation {
  std::string_view file;  // "" = they are in it
  uint64_t offset = 0;
  uint64_t length = 0;  // 0 = to the end of the file
};

struct TensorProto {
  std::string_view name;
  bool has_type = false;
  int32_t element_type = 0;  // ONNX's number
  std::vector<int64_t> dims;
  bool has_raw = false;                // the elements are in the field raw_data
  std::string_view raw;                // packed elements; "" of strings and external data
  std::vector<StringElement> strings;  // of the element type string
  ExternalLocation external;
};

// Whether a field of this number may have this wire type (0 varint, 1 eight bytes, 2 length, 5 four bytes). False for unknown fields.
bool is_tensor_field(uint64_t number, uint64_t wire);

// The result borrows from `bytes`, or from `storage`, where the elements of typed fields (float_data and so on) are packed. Untrusted
// input: the elements fit the shape, unless they are external.
// Errors: kCorrupt for damaged bytes and for elements that do not fit the shape; kUnsupported for an unknown element type, and for elements
// in a file that is not named.
Result<TensorProto> read_tensor_proto(std::string_view bytes, std::string& storage);

// The shape of a TensorProto, without its data. Empty when the bytes are damaged.
std::vector<int64_t> tensor_proto_dims(std::string_view bytes);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ONNX_TENSOR_TENSOR_PROTO_H_
