#include "format/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kAlignment = 8;
constexpr uint64_t kLargestHeader = 100'000'000;  // which readers refuse to go beyond
constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr std::array<TypeName, 19> kTypeNames = {{{DType::kBool, "BOOL"},
                                                  {DType::kInt8, "I8"},
                                                  {DType::kInt16, "I16"},
                                                  {DType::kInt32, "I32"},
                                                  {DType::kInt64, "I64"},
                                                  {DType::kUInt8, "U8"},
                                                  {DType::kUInt16, "U16"},
                                                  {DType::kUInt32, "U32"},
                                                  {DType::kUInt64, "U64"},
                                                  {DType::kFloat16, "F16"},
                                                  {DType::kBFloat16, "BF16"},
                                                  {DType::kFloat32, "F32"},
                                                  {DType::kFloat64, "F64"},
                                                  {DType::kComplex64, "C64"},
                                                  {DType::kFloat8E4M3FN, "F8_E4M3"},
                                                  {DType::kFloat8E4M3FNUZ, "F8_E4M3FNUZ"},
                                                  {DType::kFloat8E5M2, "F8_E5M2"},
                                                  {DType::kFloat8E5M2FNUZ, "F8_E5M2FNUZ"},
                                                  {DType::kFloat8E8M0, "F8_E8M0"}}};

std::string_view type_name(DType dtype) {
  const auto* found = std::ranges::find(kTypeNames, dtype, &TypeName::dtype);
  return found == kTypeNames.end() ? std::string_view() : found->name;
}

uint64_t length_of(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<uint64_t>(bytes[i]);
  return length;
}

uint64_t bytes_of(const TensorDesc& desc) { return packed_bytes(desc.dtype, desc.shape.numel().value_or(0)).value_or(0); }

// Where a tensor is in the data.
struct Place {
  uint64_t begin = 0;
  uint64_t end = 0;
};

bool unsigned_at(const Json& list, size_t i, uint64_t& number) {
  if (!list[i].is_number_unsigned()) return false;
  number = list[i].get<uint64_t>();
  return true;
}

Result<TensorDesc> desc_of(const Json& tensor) {
  TensorDesc desc;
  const Json& shape = tensor.at("shape");
  const std::string type = tensor.at("dtype").is_string() ? tensor.at("dtype").get<std::string>() : "";
  const auto* known = std::ranges::find(kTypeNames, std::string_view(type), &TypeName::name);
  if (type.empty() || known == kTypeNames.end()) return unsupported(concat("there is no element type ", quote(type)));
  desc.dtype = known->dtype;
  std::vector<int64_t> dims;
  if (!shape.is_array()) return corrupt("its shape is no list");
  if (shape.size() > size_t{kMaxRank}) return unsupported(concat(shape.size(), " dimensions; at most ", kMaxRank, " are read"));
  for (size_t i = 0; i < shape.size(); ++i) {
    uint64_t dim = 0;
    if (!unsigned_at(shape, i, dim) || dim > INT64_MAX) return corrupt("its shape holds something else than sizes");
    dims.push_back(static_cast<int64_t>(dim));
  }
  desc.shape = Shape(dims);
  return desc;
}

Result<Place> place_of(const Json& tensor, const TensorDesc& desc, uint64_t data_bytes) {
  const Json& offsets = tensor.at("data_offsets");
  Place place;
  if (!offsets.is_array() || offsets.size() != 2 || !unsigned_at(offsets, 0, place.begin) || !unsigned_at(offsets, 1, place.end)) {
    return corrupt("its data_offsets are not two numbers");
  }
  const auto numel = desc.shape.numel();
  const auto needed = numel ? packed_bytes(desc.dtype, *numel) : std::nullopt;
  if (place.begin > place.end || place.end > data_bytes || !needed || *needed != place.end - place.begin) {
    return corrupt(concat("its elements at ", place.begin, " to ", place.end, " do not fit ", dtype_name(desc.dtype), " ",
                          desc.shape.to_text(), " in ", data_bytes, " bytes of data"));
  }
  return place;
}

Result<NamedTensor> tensor_of(const std::string& name, const Json& tensor, std::span<const std::byte> data, Place& place) {
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!tensor.is_object() || !tensor.contains(key)) return corrupt(concat("it has no ", key));
  }
  NamedTensor found;
  found.name = name;
  TENSORTAP_ASSIGN_OR_RETURN(found.view.desc, desc_of(tensor));
  TENSORTAP_ASSIGN_OR_RETURN(place, place_of(tensor, found.view.desc, data.size()));
  found.view.data = data.data() + place.begin;
  return found;
}

// Readers refuse files with gaps, and such where tensors share bytes.
Status check_places(std::vector<Place> places, uint64_t data_bytes) {
  std::ranges::sort(places, {}, [](const Place& place) { return std::pair(place.begin, place.end); });
  uint64_t end = 0;
  for (const Place& place : places) {
    if (place.begin != end) return corrupt(concat("safetensors: the tensors do not follow each other at byte ", end, " of the data"));
    end = place.end;
  }
  return end == data_bytes ? Status() : corrupt(concat("safetensors: ", data_bytes - end, " bytes behind the last tensor"));
}

}  // namespace

Result<std::string> safetensors_header(std::span<const SafetensorsEntry> entries, const SafetensorsMetadata& metadata) {
  Json header = Json::object();
  for (const auto& [key, value] : metadata) header[std::string(kMetadata)][key] = value;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string_view type = type_name(entry.desc.dtype);
    if (type.empty()) return unsupported(concat("safetensors has no element type ", dtype_name(entry.desc.dtype)));
    if (entry.name == kMetadata || !names.insert(entry.name).second) {
      return invalid_argument(concat("safetensors: a second ", quote(entry.name)));
    }
    const uint64_t bytes = bytes_of(entry.desc);
    Json shape = Json::array();
    for (const int64_t dim : entry.desc.shape.dims()) shape.push_back(dim);
    header[entry.name] = {{"dtype", type}, {"shape", std::move(shape)}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = to_json_text(header);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kLargestHeader) return unsupported("safetensors: a header of more than 100 MB, which its readers refuse");
  std::string file;
  for (uint64_t i = 0; i < kLengthBytes; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text;
}

std::vector<size_t> safetensors_order(std::span<const SafetensorsEntry> entries) {
  std::vector<size_t> order(entries.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return dtype_info(entries[i].desc.dtype).bits; });
  return order;
}

bool safetensors_holds(DType dtype) { return dtype != DType::kUndefined && !type_name(dtype).empty(); }

bool safetensors_recognise(std::span<const std::byte> head) {
  return head.size() > kLengthBytes && length_of(head) >= 2 && length_of(head) <= kLargestHeader &&
         head[kLengthBytes] == static_cast<std::byte>('{');
}

Result<std::vector<NamedTensor>> safetensors_decode(std::span<const std::byte> bytes) {
  if (!safetensors_recognise(bytes)) return corrupt("safetensors: neither a length nor a header at the beginning");
  const uint64_t length = length_of(bytes);
  const auto text = part_of(bytes, kLengthBytes, length);
  if (!text) return corrupt(concat("safetensors: cut short: the header has ", length, " bytes, the file ", bytes.size()));
  const std::span<const std::byte> data = after(bytes, kLengthBytes + length);
  TENSORTAP_ASSIGN_OR_RETURN(const Json header, parse_json({reinterpret_cast<const char*>(text->data()), text->size()}, "safetensors"));
  if (!header.is_object()) return corrupt("safetensors: the header is no JSON object");
  std::vector<NamedTensor> tensors;
  std::vector<Place> places;
  for (const auto& [name, tensor] : header.items()) {
    if (name == kMetadata) continue;
    Result<NamedTensor> found = tensor_of(name, tensor, data, places.emplace_back());
    if (!found.ok()) return found.status().with_context(concat("safetensors: ", quote(name)));
    tensors.push_back(*std::move(found));
  }
  TENSORTAP_RETURN_IF_ERROR(check_places(std::move(places), data.size()));
  return tensors;
}

Result<std::string> safetensors_encode(std::span<const NamedTensor> tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, tensor.view.desc});
  const std::vector<size_t> order = safetensors_order(entries);
  std::vector<SafetensorsEntry> sorted;
  for (const size_t i : order) sorted.push_back(entries[i]);
  TENSORTAP_ASSIGN_OR_RETURN(std::string file, safetensors_header(sorted, {}));
  for (const size_t i : order) {
    const uint64_t bytes = bytes_of(entries[i].desc);
    if (bytes > 0 && tensors[i].view.data == nullptr) return invalid_argument("safetensors: a tensor without values cannot be written");
    const size_t begin = file.size();
    file.resize(begin + bytes);
    if (bytes > 0) copy_packed(tensors[i].view, file.data() + begin);
  }
  return file;
}

}  // namespace tensortap
