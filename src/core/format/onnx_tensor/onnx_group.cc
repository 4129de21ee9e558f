#include "format/onnx_tensor/onnx_group.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/protobuf.h"
#include "base/text.h"
#include "format/onnx_tensor/onnx_tensor.h"

namespace tensortap {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Field numbers of SequenceProto and OptionalProto, which differ in that the first repeats its values.
namespace list_field {
constexpr uint32_t kName = 1, kElementType = 2, kTensors = 3, kSparse = 4, kSequences = 5, kMaps = 6, kOptionals = 7;
}
namespace map_field {
constexpr uint32_t kKeyType = 2, kKeys = 3, kStringKeys = 4, kValues = 5;
}
constexpr int32_t kMaxElementType = 5;      // of list_field::kElementType
constexpr int32_t kInt64 = 7, kString = 8;  // of map_field::kKeyType: the keys that ONNX Runtime knows
constexpr size_t kMostElements = 65536;

Status damaged_group(std::string_view what) { return corrupt(concat("ONNX sequence, optional or map: ", what)); }

Status none_of(std::string_view what) { return unsupported(concat("ONNX sequence or optional: holds ", what, ", which is not read")); }

std::span<const std::byte> bytes_of(protozero::data_view view) { return {reinterpret_cast<const std::byte*>(view.data()), view.size()}; }

Status add_tensor(std::span<const std::byte> bytes, std::vector<NamedTensor>& tensors) {
  if (tensors.size() >= kMostElements) return damaged_group(concat("more than ", kMostElements, " elements"));
  Result<std::vector<NamedTensor>> one = onnx_tensor_decode(bytes);
  if (!one.ok()) return one.status().with_context(concat("element ", tensors.size()));
  tensors.push_back(std::move(one->front()));
  return {};
}

// `nested`: whether this is the one sequence that an optional holds.
Status read_list(pbf_reader reader, bool nested, std::vector<NamedTensor>& tensors) {
  size_t sequences = 0;
  while (reader.next()) {
    const bool is_text = reader.wire_type() == pbf_wire_type::length_delimited;
    if (reader.tag() == list_field::kElementType && reader.wire_type() == pbf_wire_type::varint) {
      if (const int32_t type = reader.get_int32(); type < 0 || type > kMaxElementType) return damaged_group(concat("element type ", type));
    } else if (reader.tag() == list_field::kName && is_text) {
      reader.skip();
    } else if (reader.tag() == list_field::kTensors && is_text) {
      TENSORTAP_RETURN_IF_ERROR(add_tensor(bytes_of(reader.get_view()), tensors));
    } else if (reader.tag() == list_field::kSequences && is_text) {
      if (nested || ++sequences > 1 || !tensors.empty()) return none_of("sequences");
      TENSORTAP_RETURN_IF_ERROR(read_list(reader.get_message(), true, tensors));
    } else if (reader.tag() >= list_field::kSparse && reader.tag() <= list_field::kOptionals && is_text) {
      return none_of(reader.tag() == list_field::kSparse ? "sparse tensors" : reader.tag() == list_field::kMaps ? "maps" : "optionals");
    } else {
      return damaged_group(concat("field ", reader.tag(), " is none of theirs"));
    }
  }
  // Whoever reads the list would take it for an optional without a value.
  return nested && tensors.empty() ? none_of("an empty sequence") : Status();
}

// One tensor of one dimension.
NamedTensor row_of(DType dtype, size_t count, std::shared_ptr<std::string> bytes) {
  NamedTensor tensor;
  tensor.view.desc = {dtype, Shape({static_cast<int64_t>(count)})};
  tensor.view.data = bytes->data();
  tensor.owner = std::move(bytes);
  return tensor;
}

NamedTensor row_of_texts(std::vector<StringElement> texts) {
  auto owner = std::make_shared<std::vector<StringElement>>(std::move(texts));
  NamedTensor tensor;
  tensor.view.desc = {DType::kString, Shape({static_cast<int64_t>(owner->size())})};
  tensor.view.data = owner->data();
  tensor.owner = std::move(owner);
  return tensor;
}

struct Keys {
  int32_t type = 0;
  std::vector<int64_t> numbers;
  std::vector<StringElement> texts;
};

Status read_keys(pbf_reader& reader, Keys& keys) {
  if (keys.numbers.size() + keys.texts.size() >= kMostElements) return damaged_group(concat("more than ", kMostElements, " keys"));
  if (reader.tag() == map_field::kStringKeys) {
    const auto text = reader.get_view();
    keys.texts.push_back({text.data(), text.size()});
  } else if (reader.wire_type() == pbf_wire_type::varint) {
    keys.numbers.push_back(reader.get_int64());
  } else {
    for (const int64_t key : reader.get_packed_int64()) {
      if (keys.numbers.size() >= kMostElements) return damaged_group(concat("more than ", kMostElements, " keys"));
      keys.numbers.push_back(key);
    }
  }
  return {};
}

// The values of a map, one element each, as one tensor.
Result<NamedTensor> joined(const std::vector<NamedTensor>& values) {
  if (values.empty()) return damaged_group("a map without values");
  const DType dtype = values.front().view.desc.dtype;
  const size_t width = dtype_info(dtype).bits / 8;
  if (dtype != DType::kString && width == 0) return unsupported(concat("ONNX map: values of ", dtype_name(dtype), " are not read"));
  auto bytes = std::make_shared<std::string>();
  std::vector<StringElement> texts;
  for (const NamedTensor& value : values) {
    if (value.view.desc.dtype != dtype || value.view.desc.shape.numel() != 1)
      return damaged_group("the values of a map are not single elements of one type");
    if (dtype == DType::kString) {
      texts.push_back(*static_cast<const StringElement*>(value.view.data));
    } else {
      bytes->append(static_cast<const char*>(value.view.data), width);
    }
  }
  return dtype == DType::kString ? row_of_texts(std::move(texts)) : row_of(dtype, values.size(), std::move(bytes));
}

Result<GroupedTensors> read_map(pbf_reader reader) {
  Keys keys;
  std::vector<NamedTensor> values;
  while (reader.next()) {
    switch (reader.tag()) {
      case map_field::kKeyType:
        keys.type = reader.get_int32();
        break;
      case map_field::kKeys:
      case map_field::kStringKeys:
        TENSORTAP_RETURN_IF_ERROR(read_keys(reader, keys));
        break;
      case map_field::kValues:
        TENSORTAP_RETURN_IF_ERROR(read_list(reader.get_message(), true, values));
        break;
      default:
        reader.skip();
    }
  }
  const size_t count = keys.type == kString ? keys.texts.size() : keys.numbers.size();
  if (count != values.size()) return damaged_group(concat(count, " keys and ", values.size(), " values"));
  GroupedTensors map{TensorGroup::kMap, {}};
  TENSORTAP_ASSIGN_OR_RETURN(NamedTensor row, joined(values));
  if (keys.type == kString) {
    map.tensors.push_back(row_of_texts(std::move(keys.texts)));
  } else {
    auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(keys.numbers.data()), count * sizeof(int64_t));
    map.tensors.push_back(row_of(DType::kInt64, count, std::move(bytes)));
  }
  map.tensors.push_back(std::move(row));
  return map;
}

// Maps say the type of their keys where lists say the kind of their elements.
bool is_map(pbf_reader reader) {
  int32_t type = 0;
  while (reader.next()) {
    if (reader.tag() == map_field::kKeyType && reader.wire_type() == pbf_wire_type::varint) {
      type = reader.get_int32();
    } else {
      reader.skip();
    }
  }
  return type == kInt64 || type == kString;
}

}  // namespace

Result<GroupedTensors> onnx_group_decode(std::span<const std::byte> bytes) {
  try {
    const pbf_reader reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (is_map(reader)) return read_map(reader);
    GroupedTensors list{TensorGroup::kList, {}};
    TENSORTAP_RETURN_IF_ERROR(read_list(reader, false, list.tensors));
    return list;
  } catch (const std::exception& error) {
    return damaged_group(concat("the file is damaged (", error.what(), ")"));
  }
}

}  // namespace tensortap
