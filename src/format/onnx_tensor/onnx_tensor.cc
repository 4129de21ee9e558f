#include "format/onnx_tensor/onnx_tensor.h"

#include <algorithm>
#include <cstring>

#include "base/protobuf.h"
#include "base/spans.h"
#include "base/text.h"

namespace tensortap {
namespace {

// Field numbers of TensorProto (onnx.proto).
enum Field : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
  kMetadata = 16,
};
constexpr int32_t kExternal = 1;
constexpr size_t kHead = 64;

Status bad(std::string_view what) { return corrupt(concat("ONNX tensor: ", what)); }

// What a TensorProto says, with its typed data turned into packed elements.
struct Proto {
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  bool has_type = false;
  bool external = false;
  std::string name;
  std::string_view raw;
  bool has_raw = false;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<uint64_t> uint64s;
  std::vector<StringElement> strings;
};

// Elements of a repeated field, packed or one by one.
template <class T, class One, class Many>
void append(protozero::pbf_reader& reader, std::vector<T>& values, One one, Many many) {
  if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
    values.push_back((reader.*one)());
    return;
  }
  const auto range = (reader.*many)();
  values.insert(values.end(), range.begin(), range.end());
}

// Whether a field of this number has this wire type (0 varint, 1 eight bytes, 2 length, 5 four bytes).
bool is_field(uint64_t number, uint64_t wire) {
  switch (number) {
    case kDims:
    case kInt32Data:
    case kInt64Data:
    case kUint64Data:
      return wire == 0 || wire == 2;
    case kDataType:
    case kDataLocation:
      return wire == 0;
    case kFloatData:
      return wire == 5 || wire == 2;
    case kDoubleData:
      return wire == 1 || wire == 2;
    case kSegment:
    case kStringData:
    case kName:
    case kRawData:
    case kDocString:
    case kExternalData:
    case kMetadata:
      return wire == 2;
    default:
      return false;
  }
}

bool is_known(uint64_t number) { return is_field(number, 0) || is_field(number, 1) || is_field(number, 2) || is_field(number, 5); }

void read_field(protozero::pbf_reader& reader, Proto& proto) {
  using Reader = protozero::pbf_reader;
  switch (reader.tag()) {
    case kDims:
      append(reader, proto.dims, &Reader::get_int64, &Reader::get_packed_int64);
      break;
    case kFloatData:
      append(reader, proto.floats, &Reader::get_float, &Reader::get_packed_float);
      break;
    case kInt32Data:
      append(reader, proto.int32s, &Reader::get_int32, &Reader::get_packed_int32);
      break;
    case kInt64Data:
      append(reader, proto.int64s, &Reader::get_int64, &Reader::get_packed_int64);
      break;
    case kDoubleData:
      append(reader, proto.doubles, &Reader::get_double, &Reader::get_packed_double);
      break;
    case kUint64Data:
      append(reader, proto.uint64s, &Reader::get_uint64, &Reader::get_packed_uint64);
      break;
    case kDataType:
      proto.data_type = reader.get_int32();
      proto.has_type = true;
      break;
    case kStringData: {
      const auto text = reader.get_view();
      proto.strings.push_back({text.data(), text.size()});
      break;
    }
    case kName:
      proto.name = reader.get_string();
      break;
    case kRawData: {
      const auto raw = reader.get_view();
      proto.raw = {raw.data(), raw.size()};
      proto.has_raw = true;
      break;
    }
    case kExternalData:
      proto.external = true;
      reader.skip();
      break;
    case kDataLocation:
      proto.external = reader.get_enum() == kExternal || proto.external;
      break;
    default:
      reader.skip();
  }
}

Status read_proto(std::span<const std::byte> bytes, Proto& proto) {
  try {
    protozero::pbf_reader reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (reader.next()) {
      // protozero believes the caller about wire types.
      if (is_known(reader.tag()) && !is_field(reader.tag(), static_cast<uint64_t>(reader.wire_type()))) {
        return bad(concat("field ", reader.tag(), " has the wrong wire type"));
      }
      read_field(reader, proto);
    }
  } catch (const std::exception& error) {
    return bad(concat("the file is damaged or no TensorProto (", error.what(), ")"));
  }
  return {};
}

// The low `width` bytes of every value.
template <class T>
std::string pack(std::span<const T> values, size_t width) {
  std::string bytes(values.size() * width, '\0');
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * width, &values[i], width);
  return bytes;
}

// Packed elements out of the field that the dtype's values are kept in. Types under a byte come packed, a byte to each value.
std::string typed_data(const Proto& proto, DType dtype) {
  const size_t width = std::max<size_t>(dtype_info(dtype).bits / 8, 1);
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      return pack<float>(proto.floats, sizeof(float));
    case DType::kFloat64:
    case DType::kComplex128:
      return pack<double>(proto.doubles, sizeof(double));
    case DType::kInt64:
      return pack<int64_t>(proto.int64s, width);
    case DType::kUInt32:
    case DType::kUInt64:
      return pack<uint64_t>(proto.uint64s, width);
    default:
      return pack<int32_t>(proto.int32s, width);
  }
}

struct Owner {
  std::string bytes;
  std::vector<StringElement> strings;
};

Status set_data(Proto& proto, uint64_t numel, NamedTensor& tensor) {
  const DType dtype = tensor.view.desc.dtype;
  auto owner = std::make_shared<Owner>();
  if (dtype == DType::kString) {
    if (proto.strings.size() != numel) return bad(concat(proto.strings.size(), " strings for ", numel, " elements"));
    owner->strings = std::move(proto.strings);
    tensor.view.data = owner->strings.data();
    tensor.owner = std::move(owner);
    return {};
  }
  const std::optional<uint64_t> size = packed_bytes(dtype, numel);
  if (!size) return bad("the shape overflows");
  if (!proto.has_raw) owner->bytes = typed_data(proto, dtype);
  const std::string_view data = proto.has_raw ? proto.raw : std::string_view(owner->bytes);
  if (data.size() != *size) {
    return bad(concat(data.size(), " bytes of values; ", dtype_name(dtype), " ", tensor.view.desc.shape.to_text(), " takes ", *size));
  }
  tensor.view.data = data.data();
  if (!proto.has_raw) tensor.owner = std::move(owner);
  return {};
}

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
    if (!is_field(tag >> 3, wire)) return false;
    if (wire == 1 || wire == 5) {
      value = wire == 1 ? 8 : 4;
    } else if (!read_varint(head, value)) {
      return false;
    }
    if (tag >> 3 == kDataType) return value > 0 && value <= INT8_MAX && dtype_from_onnx(static_cast<int>(value)) != DType::kUndefined;
    if (wire == 0) continue;
    if (value > head.size()) return false;
    head = after(head, value);
  }
  return false;
}

Result<std::vector<NamedTensor>> onnx_tensor_decode(std::span<const std::byte> bytes) {
  Proto proto;
  TENSORTAP_RETURN_IF_ERROR(read_proto(bytes, proto));
  if (!proto.has_type) return bad("no data_type: the file is damaged or no TensorProto");
  const DType dtype = dtype_from_onnx(proto.data_type);
  if (dtype == DType::kUndefined) return unsupported(concat("ONNX tensor: the data type ", proto.data_type, " is not known"));
  if (proto.external) {
    return unsupported("ONNX tensor: the values are in another file (external data); save the tensor with its values in it");
  }
  if (proto.dims.size() > kMaxRank)
    return unsupported(concat("ONNX tensor: ", proto.dims.size(), " dimensions; at most ", kMaxRank, " are read"));
  NamedTensor tensor;
  tensor.name = proto.name;
  tensor.view.desc = {dtype, Shape(proto.dims)};
  const std::optional<uint64_t> numel = tensor.view.desc.shape.numel();
  if (!numel) return bad("a dimension is negative or the shape overflows");
  TENSORTAP_RETURN_IF_ERROR(set_data(proto, *numel, tensor));
  std::vector<NamedTensor> tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

}  // namespace tensortap
