#include "format/onnx_tensor/onnx_tensor_write.h"

#include <cstdint>
#include <protozero/pbf_writer.hpp>

#include "base/text.h"
#include "format/onnx_tensor/tensor_proto.h"

namespace tensortap {

Result<std::string> onnx_tensor_bytes(std::string_view name, const TensorView& view) {
  const DTypeInfo& info = dtype_info(view.desc.dtype);
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (info.onnx == 0) return unsupported(concat("ONNX has no element type ", info.name));
  if (numel > 0 && view.data == nullptr) return invalid_argument("a tensor without values cannot be written");
  std::string bytes;
  protozero::pbf_writer tensor(bytes);
  tensor.add_packed_int64(tensor_field::kDims, view.desc.shape.dims().begin(), view.desc.shape.dims().end());
  tensor.add_int32(tensor_field::kDataType, info.onnx);
  tensor.add_string(tensor_field::kName, name.data(), name.size());
  if (info.kind == DTypeKind::kString) {
    const auto* texts = static_cast<const StringElement*>(view.data);
    for (uint64_t i = 0; i < numel; ++i) tensor.add_bytes(tensor_field::kStringData, texts[i].data, texts[i].size);
    return bytes;
  }
  std::string packed(packed_bytes(view.desc.dtype, numel).value_or(0), '\0');
  if (!packed.empty()) copy_packed(view, packed.data());
  tensor.add_bytes(tensor_field::kRawData, packed.data(), packed.size());
  return bytes;
}

}  // namespace tensortap
