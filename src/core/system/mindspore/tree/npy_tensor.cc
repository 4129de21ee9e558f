#include "system/mindspore/tree/npy_tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

#include "base/gathered_write.h"
#include "tensor/number_formats.h"

namespace tensortap::mindspore {
namespace {

constexpr size_t kVersion1Begin = 10;  // magic, version and a length of two bytes
constexpr size_t kVersion2Begin = 12;
constexpr size_t kAlignment = 64;
constexpr size_t kLongestVersion1 = 0xffff;
constexpr uint64_t kChunk = uint64_t{1} << 16;  // elements widened at once; even, so that a byte is never split

void append_signed(int64_t number, std::string& text) {
  std::array<char, 21> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end.ptr);
}

Status write_both(int file, const std::string& path, std::span<const std::byte> first, std::span<const std::byte> second) {
  std::array<iovec, 2> pieces = {piece_of(first), piece_of(second)};
  return write_pieces(file, path, pieces);
}

}  // namespace

DType stored_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return DType::kFloat32;
    case DType::kInt4:
    case DType::kInt2:
      return DType::kInt8;
    case DType::kUInt4:
    case DType::kUInt2:
    case DType::kUInt1:
      return DType::kUInt8;
    default: {
      const DTypeInfo& info = dtype_info(dtype);
      return info.is_raw_in_numpy || info.numpy_descr.empty() ? DType::kUndefined : info.dtype;
    }
  }
}

void append_npy_tensor_header(DType stored, std::span<const int64_t> dims, std::string& text) {
  const size_t begin = text.size();
  text.append(kVersion1Begin, '\0');
  text += "{'descr': '";
  text += dtype_info(stored).numpy_descr;
  text += "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : dims) {
    append_signed(dim, text);
    text += ',';
  }
  text += "), }";
  // Where the header is aligned already 64 spaces follow, as NumPy did once.
  const auto pad = [&] {
    const size_t length = text.size() - begin + 1;
    return kAlignment - length % kAlignment;
  };
  size_t spaces = pad();
  const bool version2 = text.size() - begin - kVersion1Begin + spaces + 1 > kLongestVersion1;
  if (version2) {
    text.insert(begin, kVersion2Begin - kVersion1Begin, '\0');
    spaces = pad();
  }
  text.append(spaces, ' ');
  text += '\n';
  const size_t length = text.size() - begin - (version2 ? kVersion2Begin : kVersion1Begin);
  char* head = text.data() + begin;
  std::memcpy(head, "\x93NUMPY", 6);
  head[6] = version2 ? 2 : 1;
  for (size_t i = 0; i < (version2 ? 4U : 2U); ++i) head[8 + i] = static_cast<char>(length >> (8 * i) & 0xff);
}

uint64_t npy_tensor_file_bytes(const TensorDesc& desc, uint64_t bytes) {
  const DType stored = stored_dtype(desc.dtype);
  std::string header;
  append_npy_tensor_header(stored, desc.shape.dims(), header);
  return header.size() + (stored == desc.dtype ? bytes : desc.shape.numel().value_or(0) * (dtype_info(stored).bits / 8));
}

Status NpyTensorWriter::write_widened(int file, const std::string& path, const TensorView& view, DType stored) {
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  const size_t element = dtype_info(stored).bits / 8;
  std::vector<int64_t> numbers;
  for (uint64_t begin = 0; begin < numel || begin == 0; begin += kChunk) {
    const uint64_t count = std::min(kChunk, numel - begin);
    widened_.resize(count * element);
    if (stored == DType::kFloat32) {
      to_float32(view.desc.dtype, view.data, begin, count, reinterpret_cast<float*>(widened_.data()));
    } else {
      numbers.resize(count);
      to_int64(view.desc.dtype, view.data, begin, count, numbers.data());
      for (uint64_t i = 0; i < count; ++i) widened_[i] = static_cast<std::byte>(numbers[i] & 0xff);
    }
    TENSORTAP_RETURN_IF_ERROR(write_both(file, path, std::as_bytes(std::span(header_)), std::as_bytes(std::span(widened_))));
    file_bytes_ += widened_.size();
    header_.clear();
  }
  return {};
}

Status NpyTensorWriter::write(int file, const std::string& path, const TensorView& view) {
  const DType stored = stored_dtype(view.desc.dtype);
  header_.clear();
  append_npy_tensor_header(stored, view.desc.shape.dims(), header_);
  file_bytes_ = header_.size();
  if (stored != view.desc.dtype) return write_widened(file, path, view, stored);
  const uint64_t bytes = packed_bytes(view.desc.dtype, view.desc.shape.numel().value_or(0)).value_or(0);
  file_bytes_ += bytes;
  return write_both(file, path, std::as_bytes(std::span(header_)), {static_cast<const std::byte*>(view.data), bytes});
}

}  // namespace tensortap::mindspore
