#include "convert/npy_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/spans.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kChunk = 1U << 16;

Status write_floats(File& file, const TensorView& view, uint64_t numel) {
  std::vector<float> values(static_cast<size_t>(std::min(numel, kChunk)));
  for (uint64_t begin = 0; begin < numel; begin += kChunk) {
    const uint64_t count = std::min(kChunk, numel - begin);
    to_float32(view.desc.dtype, view.data, begin, count, values.data());
    TENSORTAP_RETURN_IF_ERROR(file.write(std::as_bytes(first_of(std::span(values.data(), values.size()), count))));
  }
  return {};
}

Status write_small_integers(File& file, const TensorView& view, uint64_t numel) {
  std::vector<int64_t> values(static_cast<size_t>(std::min(numel, kChunk)));
  std::vector<std::byte> bytes(values.size());
  for (uint64_t begin = 0; begin < numel; begin += kChunk) {
    const uint64_t count = std::min(kChunk, numel - begin);
    to_int64(view.desc.dtype, view.data, begin, count, values.data());
    for (uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(values[i]);
    TENSORTAP_RETURN_IF_ERROR(file.write(first_of(std::span<const std::byte>(bytes), count)));
  }
  return {};
}

}  // namespace

DType numpy_dtype_for(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.kind == DTypeKind::kString || info.kind == DTypeKind::kNone) return DType::kUndefined;
  if (info.kind == DTypeKind::kFloat && info.is_raw_in_numpy) return DType::kFloat32;
  if (info.bits >= 8) return dtype;
  if (info.kind == DTypeKind::kFloat) return DType::kFloat32;
  return info.kind == DTypeKind::kSigned ? DType::kInt8 : DType::kUInt8;
}

uint64_t value_bytes(const TensorDesc& desc) {
  return packed_bytes(numpy_dtype_for(desc.dtype), desc.shape.numel().value_or(0)).value_or(0);
}

Status write_values(File& file, std::string_view head, const TensorView& view) {
  const DType stored = numpy_dtype_for(view.desc.dtype);
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (stored == DType::kUndefined) return unsupported("texts have no values to write");
  const uint64_t bytes = value_bytes(view.desc);
  // One call for what is small: many small files are what takes time.
  if (stored == view.desc.dtype && bytes <= kChunk) {
    std::string whole(head);
    if (bytes > 0) whole.append(static_cast<const char*>(view.data), bytes);
    return file.write(whole);
  }
  TENSORTAP_RETURN_IF_ERROR(file.write(head));
  if (stored == view.desc.dtype) return file.write({static_cast<const std::byte*>(view.data), bytes});
  return stored == DType::kFloat32 ? write_floats(file, view, numel) : write_small_integers(file, view, numel);
}

Status write_npy(File& file, const TensorView& view) {
  const DType stored = numpy_dtype_for(view.desc.dtype);
  if (stored == DType::kUndefined) return unsupported("texts are not written as npy; use npz");
  return write_values(file, make_tensor_npy_header({stored, view.desc.shape}, value_bytes(view.desc)), view);
}

Result<std::string> npy_file_of(const TensorView& view) {
  const DType stored = numpy_dtype_for(view.desc.dtype);
  if (stored == DType::kUndefined) return unsupported("NumPy files cannot store this type");
  if (stored == view.desc.dtype) return encode_npy(view);
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  std::string file = make_tensor_npy_header({stored, view.desc.shape}, value_bytes(view.desc));
  const size_t begin = file.size();
  file.resize(begin + value_bytes(view.desc));
  if (stored == DType::kFloat32) {
    std::vector<float> values(numel);
    to_float32(view.desc.dtype, view.data, 0, numel, values.data());
    if (numel > 0) std::memcpy(file.data() + begin, values.data(), numel * sizeof(float));
  } else {
    std::vector<int64_t> values(numel);
    to_int64(view.desc.dtype, view.data, 0, numel, values.data());
    for (uint64_t i = 0; i < numel; ++i) file[begin + i] = static_cast<char>(values[i]);
  }
  return file;
}

uint64_t npy_bytes(const TensorDesc& desc) {
  const TensorDesc stored{numpy_dtype_for(desc.dtype), desc.shape};
  return make_tensor_npy_header(stored, value_bytes(desc)).size() + value_bytes(desc);
}

float hifloat8_to_float(uint8_t bits) {
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  const uint32_t rest = bits & 0x7fU;
  if (rest == 0) return (bits & 0x80) != 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
  if (rest == 0x6f) return sign * std::numeric_limits<float>::infinity();
  // The dot in front says how many bits the exponent has: 11, 10, 01, 001, 0001 mean 4, 3, 2, 1, 0.
  if (rest < 8) return sign * std::ldexp(1.0F, static_cast<int>(rest) - 23);
  const uint32_t exponent_bits = rest >= 0x60 ? 4 : rest >= 0x40 ? 3 : rest >= 0x20 ? 2 : rest >= 0x10 ? 1 : 0;
  const uint32_t dot_bits = exponent_bits >= 2 ? 2 : exponent_bits == 1 ? 3 : 4;
  const uint32_t fraction_bits = 7 - dot_bits - exponent_bits;
  const uint32_t fraction = rest & ((1U << fraction_bits) - 1);
  const uint32_t field = rest >> fraction_bits & ((1U << exponent_bits) - 1);
  int exponent = 0;
  if (exponent_bits > 0) {
    // Its own sign, a leading one that is not written, then the rest of its magnitude.
    const uint32_t magnitude_bits = exponent_bits - 1;
    const bool negative = (field >> magnitude_bits & 1U) != 0;
    exponent = static_cast<int>((1U << magnitude_bits) | (field & ((1U << magnitude_bits) - 1)));
    if (negative) exponent = -exponent;
  }
  return sign * std::ldexp(1.0F + static_cast<float>(fraction) / static_cast<float>(1U << fraction_bits), exponent);
}

}  // namespace tensortap
