// TensorProto: where the elements are, and typed fields (float_data and so on) as plain memory.

#include <cstring>

#include "base/text.h"
#include "source/onnxruntime/element_types.h"
#include "source/onnxruntime/onnx_fields.h"
#include "source/onnxruntime/onnx_model.h"

namespace tensortap::onnxruntime {
namespace {

using field::text;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

template <class T>
void append_value(T value, std::string& storage) {
  storage.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Elements of 32 bits or less share int32_data, one varint each. Elements smaller than a byte are packed in bytes there.
void append_int32(int32_t value, int32_t element_type, std::string& storage) {
  const int bits = onnxruntime::element_type(element_type).bits;
  if (bits == 32) return append_value(value, storage);
  if (bits == 16) return append_value(static_cast<uint16_t>(value), storage);
  append_value(static_cast<uint8_t>(value), storage);
}

// A repeated number field, packed or one at a time.
template <class Packed, class Single>
void each_number(pbf_reader& reader, Packed&& packed, Single&& single) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    packed(reader);
  } else {
    single(reader);
  }
}

void read_dims(pbf_reader& reader, std::vector<int64_t>& dims) {
  each_number(
      reader,
      [&](pbf_reader& r) {
        for (const int64_t dim : r.get_packed_int64()) {
          if (dims.size() >= kMostDims) throw protozero::invalid_length_exception();
          dims.push_back(dim);
        }
      },
      [&](pbf_reader& r) {
        if (dims.size() >= kMostDims) throw protozero::invalid_length_exception();
        dims.push_back(r.get_int64());
      });
}

void read_int32_data(pbf_reader& reader, int32_t element_type, std::string& storage) {
  each_number(
      reader,
      [&](pbf_reader& r) {
        for (const int32_t value : r.get_packed_int32()) append_int32(value, element_type, storage);
      },
      [&](pbf_reader& r) { append_int32(r.get_int32(), element_type, storage); });
}

void read_int64_data(pbf_reader& reader, std::string& storage) {
  each_number(
      reader,
      [&](pbf_reader& r) {
        for (const int64_t value : r.get_packed_int64()) append_value(value, storage);
      },
      [&](pbf_reader& r) { append_value(r.get_int64(), storage); });
}

// uint32 elements are varints of 64 bits here, like uint64 ones.
void read_uint64_data(pbf_reader& reader, int32_t element_type, std::string& storage) {
  auto append = [&](uint64_t value) {
    if (onnxruntime::element_type(element_type).bits == 32) return append_value(static_cast<uint32_t>(value), storage);
    append_value(value, storage);
  };
  each_number(
      reader,
      [&](pbf_reader& r) {
        for (const uint64_t value : r.get_packed_uint64()) append(value);
      },
      [&](pbf_reader& r) { append(r.get_uint64()); });
}

void read_fixed_data(pbf_reader& reader, std::string& storage) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    storage.append(text(reader.get_view()));
  } else if (reader.wire_type() == pbf_wire_type::fixed32) {
    append_value(reader.get_float(), storage);
  } else {
    append_value(reader.get_double(), storage);
  }
}

void read_external_entry(pbf_reader reader, ExternalLocation& external) {
  std::string_view key;
  std::string_view value;
  while (reader.next()) {
    if (reader.tag() == 1) {
      key = text(reader.get_view());
    } else if (reader.tag() == 2) {
      value = text(reader.get_view());
    } else {
      reader.skip();
    }
  }
  if (key == "location") external.file = value;
  if (key == "offset") parse_unsigned(value, external.offset);
  if (key == "length") parse_unsigned(value, external.length);
}

// The data type stands behind the data in hostile files, so it is read first.
int32_t read_data_type(std::string_view bytes) {
  int32_t type = 0;
  pbf_reader reader(field::view(bytes));
  while (reader.next(field::tensor::kDataType, pbf_wire_type::varint)) type = reader.get_int32();
  return type;
}

void read_field(pbf_reader& reader, TensorData& tensor, std::string& storage) {
  switch (reader.tag()) {
    case field::tensor::kDims:
      return read_dims(reader, tensor.dims);
    case field::tensor::kRawData:
      tensor.has_raw = true;
      tensor.raw = text(reader.get_view());
      return;
    case field::tensor::kFloatData:
    case field::tensor::kDoubleData:
      return read_fixed_data(reader, storage);
    case field::tensor::kInt32Data:
      return read_int32_data(reader, tensor.element_type, storage);
    case field::tensor::kInt64Data:
      return read_int64_data(reader, storage);
    case field::tensor::kUint64Data:
      return read_uint64_data(reader, tensor.element_type, storage);
    case field::tensor::kExternalData:
      return read_external_entry(reader.get_message(), tensor.external);
    default:
      reader.skip();
  }
}

}  // namespace

Result<TensorData> read_tensor(std::string_view bytes, std::string& storage) {
  return field::guarded("a tensor", [&]() -> Result<TensorData> {
    TensorData tensor;
    storage.clear();
    tensor.element_type = read_data_type(bytes);
    pbf_reader reader(field::view(bytes));
    while (reader.next()) read_field(reader, tensor, storage);
    uint64_t count = 0;
    if (!element_count(tensor.dims, count)) return corrupt("a tensor has an impossible shape");
    if (!tensor.external.file.empty() || tensor.element_type == kElementString) return tensor;
    if (!tensor.has_raw) tensor.raw = storage;
    uint64_t size = 0;
    if (!byte_count(tensor.element_type, count, size) || tensor.raw.size() != size)
      return corrupt("a tensor's data does not fit its shape");
    return tensor;
  });
}

std::vector<int64_t> read_tensor_dims(std::string_view bytes) {
  const auto dims = field::guarded("a tensor", [&]() -> Result<std::vector<int64_t>> {
    std::vector<int64_t> found;
    pbf_reader reader(field::view(bytes));
    while (reader.next(field::tensor::kDims)) read_dims(reader, found);
    return found;
  });
  return dims.ok() ? *dims : std::vector<int64_t>();
}

bool is_outside(const Initializer& initializer) {
  try {
    pbf_reader reader(field::view(initializer.bytes));
    return reader.next(field::tensor::kExternalData);
  } catch (const protozero::exception&) {
    return false;
  }
}

Result<std::vector<std::string_view>> read_strings(std::string_view tensor_bytes) {
  return field::guarded("a tensor", [&]() -> Result<std::vector<std::string_view>> {
    std::vector<std::string_view> strings;
    pbf_reader reader(field::view(tensor_bytes));
    while (reader.next(field::tensor::kStringData)) strings.push_back(text(reader.get_view()));
    return strings;
  });
}

}  // namespace tensortap::onnxruntime
