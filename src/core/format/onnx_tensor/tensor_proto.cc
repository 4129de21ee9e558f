#include "format/onnx_tensor/tensor_proto.h"

#include <algorithm>
#include <exception>

#include "base/protobuf.h"
#include "base/text.h"

namespace tensortap {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
namespace field = tensor_field;

constexpr size_t kMostDims = 1024;  // more means damage
constexpr int32_t kExternal = 1;    // of field::kDataLocation

Status bad_proto(std::string_view what) { return corrupt(concat("ONNX tensor: ", what)); }

std::string_view text_of(protozero::data_view view) { return {view.data(), view.size()}; }

// The field that holds elements of this type where raw_data does not; 0 = none.
uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::kUndefined:
      return 0;
    case DType::kFloat32:
    case DType::kComplex64:
      return field::kFloatData;
    case DType::kFloat64:
    case DType::kComplex128:
      return field::kDoubleData;
    case DType::kInt64:
      return field::kInt64Data;
    case DType::kUInt32:
    case DType::kUInt64:
      return field::kUint64Data;
    case DType::kString:
      return field::kStringData;
    default:
      return field::kInt32Data;
  }
}

// Calls take(number) for each element of a repeated field of varints, packed or one by one.
template <class Take>
void each_varint(pbf_reader& reader, const Take& take) {
  if (reader.wire_type() == pbf_wire_type::varint) return take(reader.get_int64());
  for (const int64_t number : reader.get_packed_int64()) take(number);
}

// `size` is that of one number, and of the wire type of one that is not packed.
void append_fixed(pbf_reader& reader, size_t size, std::string& storage) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    storage.append(text_of(reader.get_view()));
  } else if (size == sizeof(float)) {
    const uint32_t bits = reader.get_fixed32();
    storage.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  } else {
    const uint64_t bits = reader.get_fixed64();
    storage.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
}

// Types under a byte come packed, a byte to each varint.
void append_elements(pbf_reader& reader, DType dtype, std::string& storage) {
  if (reader.tag() == field::kFloatData) return append_fixed(reader, sizeof(float), storage);
  if (reader.tag() == field::kDoubleData) return append_fixed(reader, sizeof(double), storage);
  const size_t width = std::max<size_t>(dtype_info(dtype).bits / 8, 1);
  each_varint(reader, [&](int64_t number) { storage.append(reinterpret_cast<const char*>(&number), width); });
}

void read_dims(pbf_reader& reader, std::vector<int64_t>& dims) {
  each_varint(reader, [&](int64_t dim) {
    if (dims.size() >= kMostDims) throw protozero::invalid_length_exception();
    dims.push_back(dim);
  });
}

void read_external_entry(pbf_reader reader, ExternalLocation& external) {
  std::string_view key;
  std::string_view value;
  while (reader.next()) {
    if (reader.tag() == 1) {
      key = text_of(reader.get_view());
    } else if (reader.tag() == 2) {
      value = text_of(reader.get_view());
    } else {
      reader.skip();
    }
  }
  if (key == "location") external.file = value;
  if (key == "offset") parse_unsigned(value, external.offset);
  if (key == "length") parse_unsigned(value, external.length);
}

// The element type may follow the elements, so it is read first. Also checks the wire types: protozero believes the caller about
// them.
Status read_type(pbf_reader reader, TensorProto& tensor) {
  while (reader.next()) {
    const uint64_t tag = reader.tag();
    const bool is_known =
        std::ranges::any_of(std::initializer_list<uint64_t>{0, 1, 2, 5}, [tag](uint64_t wire) { return is_tensor_field(tag, wire); });
    if (is_known && !is_tensor_field(tag, static_cast<uint64_t>(reader.wire_type())))
      return bad_proto(concat("field ", tag, " has the wrong wire type"));
    if (tag == field::kDataType) {
      tensor.element_type = reader.get_int32();
      tensor.has_type = true;
    } else {
      reader.skip();
    }
  }
  return {};
}

// Whether the elements are external comes in `external`.
void read_fields(pbf_reader reader, TensorProto& tensor, bool& external, std::string& storage) {
  const DType dtype = dtype_from_onnx(tensor.element_type);
  const uint32_t typed = typed_field(dtype);
  while (reader.next()) {
    if (reader.tag() == field::kDims) {
      read_dims(reader, tensor.dims);
    } else if (reader.tag() == field::kName) {
      tensor.name = text_of(reader.get_view());
    } else if (reader.tag() == field::kRawData) {
      tensor.raw = text_of(reader.get_view());
      tensor.has_raw = true;
    } else if (reader.tag() == field::kExternalData) {
      external = true;
      read_external_entry(reader.get_message(), tensor.external);
    } else if (reader.tag() == field::kDataLocation) {
      external = reader.get_enum() == kExternal || external;
    } else if (reader.tag() != typed) {
      reader.skip();
    } else if (dtype == DType::kString) {
      const std::string_view text = text_of(reader.get_view());
      tensor.strings.push_back({text.data(), text.size()});
    } else {
      append_elements(reader, dtype, storage);
    }
  }
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::vector<std::string> texts;
  for (const int64_t dim : dims) texts.push_back(to_text(dim));
  return concat("[", join(texts, ", "), "]");
}

Status check_elements(const TensorProto& tensor) {
  const DType dtype = dtype_from_onnx(tensor.element_type);
  const std::optional<uint64_t> count = element_count(tensor.dims);
  if (!count) return bad_proto("a dimension is negative or the shape overflows");
  if (dtype == DType::kString) {
    if (tensor.strings.size() != *count) return bad_proto(concat(tensor.strings.size(), " strings for ", *count, " elements"));
    return {};
  }
  const std::optional<uint64_t> size = packed_bytes(dtype, *count);
  if (!size) return bad_proto("the shape overflows");
  if (tensor.raw.size() != *size)
    return bad_proto(concat(tensor.raw.size(), " bytes of values; ", dtype_name(dtype), " ", dims_text(tensor.dims), " takes ", *size));
  return {};
}

}  // namespace

bool is_tensor_field(uint64_t number, uint64_t wire) {
  switch (number) {
    case field::kDims:
    case field::kInt32Data:
    case field::kInt64Data:
    case field::kUint64Data:
      return wire == 0 || wire == 2;
    case field::kDataType:
    case field::kDataLocation:
      return wire == 0;
    case field::kFloatData:
      return wire == 5 || wire == 2;
    case field::kDoubleData:
      return wire == 1 || wire == 2;
    case field::kSegment:
    case field::kStringData:
    case field::kName:
    case field::kRawData:
    case field::kDocString:
    case field::kExternalData:
    case field::kMetadata:
      return wire == 2;
    default:
      return false;
  }
}

Result<TensorProto> read_tensor_proto(std::string_view bytes, std::string& storage) {
  TensorProto tensor;
  bool external = false;
  storage.clear();
  try {
    const pbf_reader reader(bytes.data(), bytes.size());
    TENSORTAP_RETURN_IF_ERROR(read_type(reader, tensor));
    read_fields(reader, tensor, external, storage);
  } catch (const std::exception& error) {
    return bad_proto(concat("the file is damaged or no TensorProto (", error.what(), ")"));
  }
  if (!tensor.external.file.empty()) return tensor;
  if (!tensor.has_type) return bad_proto("no data_type: the file is damaged or no TensorProto");
  if (dtype_from_onnx(tensor.element_type) == DType::kUndefined)
    return unsupported(concat("ONNX tensor: the data type ", tensor.element_type, " is not known"));
  if (external) return unsupported("ONNX tensor: the values are in another file (external data), which is not named");
  if (!tensor.has_raw) tensor.raw = storage;
  TENSORTAP_RETURN_IF_ERROR(check_elements(tensor));
  return tensor;
}

std::vector<int64_t> tensor_proto_dims(std::string_view bytes) {
  std::vector<int64_t> dims;
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next(field::kDims)) read_dims(reader, dims);
  } catch (const std::exception&) {
    return {};
  }
  return dims;
}

}  // namespace tensortap
