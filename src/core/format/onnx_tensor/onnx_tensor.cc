#include "format/onnx_tensor/onnx_tensor.h"

#include <memory>

#include "base/spans.h"
#include "base/text.h"
#include "format/onnx_tensor/tensor_proto.h"

namespace tensortap {
namespace {

constexpr size_t kHead = 64;

struct Owner {
  std::string bytes;
  TensorProto proto;
};

bool read_varint(std::span<const std::byte>& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint64_t>(bytes[0]);
    bytes = after(bytes, 1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

bool onnx_tensor_holds(DType dtype) { return dtype_info(dtype).onnx != 0; }

// Protobuf has no magic: the fields in the head have to be TensorProto's, with a valid data_type among them.
bool onnx_tensor_recognise(std::span<const std::byte> head) {
  head = first_of(head, kHead);
  uint64_t tag = 0;
  uint64_t value = 0;
  while (read_varint(head, tag)) {
    const uint64_t wire = tag & 7;
    if (!is_tensor_field(tag >> 3, wire)) return false;
    if (wire == 1 || wire == 5) {
      value = wire == 1 ? 8 : 4;
    } else if (!read_varint(head, value)) {
      return false;
    }
    if (tag >> 3 == tensor_field::kDataType)
      return value > 0 && value <= INT8_MAX && dtype_from_onnx(static_cast<int>(value)) != DType::kUndefined;
    if (wire == 0) continue;
    if (value > head.size()) return false;
    head = after(head, value);
  }
  return false;
}

Result<std::vector<NamedTensor>> onnx_tensor_decode(std::span<const std::byte> bytes) {
  auto owner = std::make_shared<Owner>();
  TENSORTAP_ASSIGN_OR_RETURN(owner->proto, read_tensor_proto({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, owner->bytes));
  const TensorProto& proto = owner->proto;
  if (!proto.external.file.empty()) {
    return unsupported("ONNX tensor: the values are in another file (external data); save the tensor with its values in it");
  }
  if (proto.dims.size() > kMaxRank)
    return unsupported(concat("ONNX tensor: ", proto.dims.size(), " dimensions; at most ", kMaxRank, " are read"));
  NamedTensor tensor;
  tensor.name = proto.name;
  tensor.view.desc = {dtype_from_onnx(proto.element_type), Shape(proto.dims)};
  const bool has_strings = tensor.view.desc.dtype == DType::kString;
  tensor.view.data = has_strings ? static_cast<const void*>(proto.strings.data()) : proto.raw.data();
  if (has_strings || !proto.has_raw) tensor.owner = std::move(owner);
  return std::vector<NamedTensor>{std::move(tensor)};
}

}  // namespace tensortap
