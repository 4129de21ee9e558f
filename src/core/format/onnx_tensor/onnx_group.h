// Values of several tensors as ONNX test data has them: SequenceProto, OptionalProto, MapProto. Read only. docs/formats/onnx_tensor.md.

#ifndef TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_GROUP_H_
#define TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_GROUP_H_

#include "format/format.h"

namespace tensortap {

// A SequenceProto and an OptionalProto of the same tensors are the same bytes, so both are a list. Errors: kCorrupt for other files,
// kUnsupported for sparse tensors, and for sequences of maps, of optionals, or of several sequences.
Result<GroupedTensors> onnx_group_decode(std::span<const std::byte> bytes);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ONNX_TENSOR_ONNX_GROUP_H_
