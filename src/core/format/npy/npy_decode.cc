// npy bytes to a tensor: element types, byte order, Fortran order, strings.

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/spans.h"
#include "base/text.h"
#include "base/utf8.h"
#include "format/npy/npy_header.h"

namespace tensortap {
namespace {

struct ElementType {
  char kind = 0;
  uint64_t size = 0;  // bytes of one element
  bool big_endian = false;
  DType dtype = DType::kUndefined;
};

Result<ElementType> parse_descr(std::string_view descr) {
  ElementType type;
  uint64_t number = 0;
  const bool marked = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view body = descr.substr(marked ? 1 : 0);
  if (body.starts_with("O")) return unsupported("npy: arrays of Python objects are not read (they would be unpickled)");
  if (body.empty() || !parse_unsigned(body.substr(1), number)) return unsupported(concat("npy: the dtype ", quote(descr), " is not read"));
  type.kind = body[0];
  type.big_endian = marked && descr[0] == '>';
  type.size = number;
  if (type.kind == 'S' || type.kind == 'U') {
    if (number == 0 || number > (uint64_t{1} << 32)) return unsupported(concat("npy: the dtype ", quote(descr), " is not read"));
    type.size = type.kind == 'U' ? number * 4 : number;
    type.dtype = DType::kString;
    return type;
  }
  const std::string native = concat(number == 1 ? "|" : "<", body);
  type.dtype = dtype_from_numpy(native).value_or(DType::kUndefined);
  if (type.kind == 'V' || type.dtype == DType::kUndefined) return unsupported(concat("npy: the dtype ", quote(descr), " is not read"));
  return type;
}

// What a header promises.
struct Described {
  ElementType type;
  uint64_t size = 0;  // bytes of all elements
};

Result<Described> describe(const NpyHeader& header) {
  if (!header.fields.empty()) return unsupported("npy: structured arrays are not tensors; records.npy of a dump is read with its folder");
  Described described;
  TENSORTAP_ASSIGN_OR_RETURN(described.type, parse_descr(header.descr));
  if (header.shape.size() > kMaxRank)
    return unsupported(concat("npy: ", header.shape.size(), " dimensions; at most ", kMaxRank, " are read"));
  const std::optional<uint64_t> numel = Shape(header.shape).numel();
  if (!numel || __builtin_mul_overflow(*numel, described.type.size, &described.size)) return corrupt("npy: the shape overflows");
  return described;
}

// Owns decoded elements, and the list of strings for string tensors.
struct Decoded {
  std::string bytes;
  std::vector<StringElement> strings;
};

void swap_bytes(char* data, size_t bytes, size_t width) {
  for (size_t at = 0; at + width <= bytes; at += width) std::reverse(data + at, data + at + width);
}

// One element of dtype S or U without the zeros that fill it up, as UTF-8. False for code points beyond Unicode.
bool append_string(const std::byte* element, const ElementType& type, std::string& text) {
  if (type.kind == 'S') {
    std::string_view value(reinterpret_cast<const char*>(element), type.size);
    text += value.substr(0, value.find_last_not_of('\0') + 1);
    return true;
  }
  size_t count = type.size / 4;
  const auto code_at = [&](size_t i) {
    uint32_t code = 0;
    std::memcpy(&code, element + 4 * i, 4);
    return type.big_endian ? __builtin_bswap32(code) : code;
  };
  while (count > 0 && code_at(count - 1) == 0) --count;
  for (size_t i = 0; i < count; ++i) {
    if (code_at(i) > 0x10ffff) return false;
    append_utf8(code_at(i), text);
  }
  return true;
}

// `order[i]` is the position in the file of the i-th element in C order; identity when not Fortran.
uint64_t fortran_position(uint64_t index, std::span<const int64_t> shape) {
  uint64_t position = 0;
  uint64_t stride = 1;
  for (const int64_t dimension : shape) stride *= static_cast<uint64_t>(dimension);
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[axis]);
    stride /= size;
    position += index % size * stride;
    index /= size;
  }
  return position;
}

Status decode_strings(const NpyHeader& header, const ElementType& type, std::span<const std::byte> data, NamedTensor& tensor) {
  const uint64_t count = data.size() / type.size;
  auto decoded = std::make_shared<Decoded>();
  std::vector<size_t> ends;
  ends.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t position = header.fortran_order ? fortran_position(i, header.shape) : i;
    if (!append_string(data.data() + position * type.size, type, decoded->bytes)) return corrupt("npy: a text holds a code beyond Unicode");
    ends.push_back(decoded->bytes.size());
  }
  decoded->strings.reserve(count);
  for (size_t i = 0, begin = 0; i < count; begin = ends[i++]) {
    decoded->strings.push_back({decoded->bytes.data() + begin, ends[i] - begin});
  }
  tensor.view.data = decoded->strings.data();
  tensor.owner = std::move(decoded);
  return {};
}

// Copies numbers into native byte order and C order.
void decode_numbers(const NpyHeader& header, const ElementType& type, std::span<const std::byte> data, NamedTensor& tensor) {
  auto decoded = std::make_shared<Decoded>();
  decoded->bytes.resize(data.size());
  TensorView source{tensor.view.desc, data.data(), nullptr};
  std::vector<int64_t> strides(header.shape.size());
  if (header.fortran_order) {
    int64_t stride = 1;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(header.shape[axis], 1);
    }
    source.strides = strides.data();
  }
  copy_packed(source, decoded->bytes.data());
  if (type.big_endian) swap_bytes(decoded->bytes.data(), decoded->bytes.size(), type.kind == 'c' ? type.size / 2 : type.size);
  tensor.view.data = decoded->bytes.data();
  tensor.owner = std::move(decoded);
}

}  // namespace

Result<uint64_t> npy_file_bytes(const NpyHeader& header) {
  TENSORTAP_ASSIGN_OR_RETURN(const Described described, describe(header));
  uint64_t size = 0;
  if (__builtin_add_overflow(header.data_begin, described.size, &size)) return corrupt("npy: the shape overflows");
  return size;
}

Result<NamedTensor> decode_npy(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(bytes));
  TENSORTAP_ASSIGN_OR_RETURN(const Described described, describe(header));
  const ElementType& type = described.type;
  NamedTensor tensor;
  tensor.view.desc = {type.dtype, Shape(header.shape)};
  const std::span<const std::byte> data = after(bytes, header.data_begin);
  if (described.size != data.size()) {
    return corrupt(concat("npy: ", described.size, " bytes of elements by the header (", header.descr, ", ",
                          tensor.view.desc.shape.to_text(), "), ", data.size(), " in the file"));
  }
  if (type.dtype == DType::kString) {
    TENSORTAP_RETURN_IF_ERROR(decode_strings(header, type, data, tensor));
  } else if ((header.fortran_order && header.shape.size() > 1) || (type.big_endian && type.size > 1)) {
    decode_numbers(header, type, data, tensor);
  } else {
    tensor.view.data = data.data();
  }
  return tensor;
}

}  // namespace tensortap
