// A tensor to the bytes of an npy file.

#include "base/text.h"
#include "format/npy/npy_header.h"

namespace tensortap {

bool npy_names(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.bits >= 8 && !info.is_raw_in_numpy;
}

Result<std::string> encode_npy(const TensorView& view) {
  const std::optional<uint64_t> numel = view.desc.shape.numel();
  if (!npy_names(view.desc.dtype)) return unsupported(concat("npy: NumPy has no dtype ", dtype_name(view.desc.dtype)));
  if (!numel || (view.data == nullptr && *numel > 0)) return invalid_argument("npy: a tensor without values cannot be written");
  const std::optional<uint64_t> bytes = packed_bytes(view.desc.dtype, *numel);
  if (!bytes) return invalid_argument("npy: the tensor is too large");
  std::string file = make_tensor_npy_header(view.desc, *bytes);
  const size_t begin = file.size();
  file.resize(begin + *bytes);
  if (*bytes > 0) copy_packed(view, file.data() + begin);
  return file;
}

}  // namespace tensortap
