// The format safetensors: named tensors behind a header of JSON. docs/formats/safetensors.md.

#ifndef TENSORTAP_FORMAT_SAFETENSORS_SAFETENSORS_H_
#define TENSORTAP_FORMAT_SAFETENSORS_SAFETENSORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/format.h"

namespace tensortap {

// A tensor that a file is to hold.
struct SafetensorsEntry {
  std::string name;  // UTF-8 for other programs to read it; unique
  TensorDesc desc;
};

// What a file says of itself: texts by name.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

// The file up to its data, which follows in the order of `entries` without gaps. Errors: kUnsupported for types that the format has no name
// for, kInvalidArgument for names that occur twice, and for one that the format keeps for itself.
Result<std::string> safetensors_header(std::span<const SafetensorsEntry> entries, const SafetensorsMetadata& metadata);

// Places of entries in the order in which every element has its natural alignment: wide types first.
std::vector<size_t> safetensors_order(std::span<const SafetensorsEntry> entries);

bool safetensors_holds(DType dtype);
bool safetensors_recognise(std::span<const std::byte> head);
Result<std::vector<NamedTensor>> safetensors_decode(std::span<const std::byte> bytes);
Result<std::string> safetensors_encode(std::span<const NamedTensor> tensors);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_SAFETENSORS_SAFETENSORS_H_
