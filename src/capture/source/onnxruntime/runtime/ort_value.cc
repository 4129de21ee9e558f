#include "source/onnxruntime/runtime/ort_value.h"

#include <cstring>
#include <span>
#include <string_view>

#include "base/text.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

Status read_type_and_shape(const Api& api, const abi::Value* value, TensorScratch& scratch, int32_t& type) {
  abi::TensorInfo* raw = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorTypeAndShape, value, &raw));
  const auto info = api.own(ort::kReleaseTensorTypeAndShapeInfo, raw);
  size_t rank = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorElementType, info.get(), &type));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetDimensionsCount, info.get(), &rank));
  scratch.dims.resize(rank);
  return api.call(ort::kGetDimensions, info.get(), scratch.dims.data(), rank);
}

Status view_strings(const Api& api, const abi::Value* value, uint64_t count, TensorScratch& scratch) {
  size_t size = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetStringTensorDataLength, value, &size));
  scratch.text.resize(size);
  scratch.offsets.resize(count);
  TENSORTAP_RETURN_IF_ERROR(
      api.call(ort::kGetStringTensorContent, value, scratch.text.data(), size, scratch.offsets.data(), size_t{count}));
  scratch.strings.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? scratch.offsets[i + 1] : size;
    scratch.strings[i] = {scratch.text.data() + scratch.offsets[i], end - scratch.offsets[i]};
  }
  return {};
}

Status data_of(const Api& api, const abi::Value* value, const void** data) {
  if (api.find(ort::kGetTensorData) != nullptr) return api.call(ort::kGetTensorData, value, data);
  void* writable = nullptr;
  // Before 1.23 only the function that promises writing existed. Nothing is written through it.
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorMutableData, const_cast<abi::Value*>(value), &writable));
  *data = writable;
  return {};
}

size_t dtype_bits(uint32_t dtype) { return dtype_info(dtype_of(dtype)).bits; }

// Bits of the last byte that belong to elements; the runtime leaves the others as they come.
unsigned char last_byte_mask(uint32_t dtype, uint64_t count) {
  const uint64_t used = count * dtype_bits(dtype) % 8;
  return used == 0 ? 0xff : static_cast<unsigned char>((1u << used) - 1);
}

// Copies elements of whole bytes one by one along strides.
void copy_strided(const tensortap_tensor& tensor, size_t element_size, char* target) {
  std::vector<int64_t> index(tensor.rank, 0);
  const char* data = static_cast<const char*>(tensor.data);
  const uint64_t count = element_count({tensor.dims, tensor.rank}).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (uint32_t axis = 0; axis < tensor.rank; ++axis) offset += index[axis] * tensor.strides[axis];
    std::memcpy(target + i * element_size, data + offset * static_cast<int64_t>(element_size), element_size);
    for (uint32_t axis = tensor.rank; axis-- > 0;) {
      if (++index[axis] < tensor.dims[axis]) break;
      index[axis] = 0;
    }
  }
}

bool is_contiguous(const tensortap_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (uint32_t axis = tensor.rank; axis-- > 0;) {
    if (tensor.dims[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.dims[axis];
  }
  return true;
}

Status fill_strings(const Api& api, const tensortap_tensor& tensor, uint64_t count, abi::Value* value) {
  const auto* strings = static_cast<const tensortap_string*>(tensor.data);
  std::vector<std::string> copies;  // the library wants terminated texts
  std::vector<const char*> pointers;
  for (uint64_t i = 0; i < count; ++i) copies.emplace_back(strings[i].data, strings[i].size);
  for (const std::string& copy : copies) pointers.push_back(copy.c_str());
  return api.call(ort::kFillStringTensor, value, pointers.data(), pointers.size());
}

Result<OwnedValue> join_values(const Api& api, const std::vector<const abi::Value*>& parts, abi::ValueType type) {
  abi::Value* value = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kCreateValue, parts.data(), parts.size(), int32_t{type}, &value));
  return api.own(ort::kReleaseValue, value);
}

std::string shape_text(const tensortap_tensor& tensor) {
  std::string text = "[";
  for (uint32_t i = 0; i < tensor.rank; ++i) text += concat(i == 0 ? "" : ", ", tensor.dims[i]);
  return text + "]";
}

std::string string_difference(const tensortap_tensor& a, const tensortap_tensor& b, uint64_t count) {
  const auto* left = static_cast<const tensortap_string*>(a.data);
  const auto* right = static_cast<const tensortap_string*>(b.data);
  for (uint64_t i = 0; i < count; ++i) {
    if (std::string_view(left[i].data, left[i].size) != std::string_view(right[i].data, right[i].size))
      return concat("string ", i, " differs");
  }
  return {};
}

std::string tensor_difference(const tensortap_tensor& a, const tensortap_tensor& b) {
  if (a.dtype != b.dtype) return "element types differ";
  if (shape_text(a) != shape_text(b)) return concat("shapes differ: ", shape_text(a), " and ", shape_text(b));
  const std::optional<uint64_t> count = element_count({a.dims, a.rank});
  if (!count) return "impossible shape";
  if (a.dtype == TENSORTAP_STRING) return string_difference(a, b, *count);
  const uint64_t bytes = packed_bytes(dtype_of(a.dtype), *count).value_or(0);
  if (bytes == 0) return {};
  const auto* left = static_cast<const char*>(a.data);
  const auto* right = static_cast<const char*>(b.data);
  if (left == nullptr || right == nullptr) return "data is missing";
  uint64_t at = 0;
  if (std::memcmp(left, right, bytes - 1) == 0) {
    const auto last = static_cast<unsigned char>((left[bytes - 1] ^ right[bytes - 1]) & last_byte_mask(a.dtype, *count));
    if (last == 0) return {};
    at = bytes - 1;
  }
  while (at + 1 < bytes && left[at] == right[at]) ++at;
  return concat("element ", at * 8 / dtype_bits(a.dtype), " of ", *count, " differs");
}

}  // namespace

Status view_shape(const Api& api, const abi::Value* value, TensorScratch& scratch, int32_t& type, std::span<const int64_t>& dims) {
  auto* fast = api.find(ort::kGetTensorElementTypeAndShapeDataReference);
  if (fast == nullptr) {
    TENSORTAP_RETURN_IF_ERROR(read_type_and_shape(api, value, scratch, type));
    dims = scratch.dims;
    return {};
  }
  const int64_t* sizes = nullptr;
  size_t rank = 0;
  if (abi::Status* status = fast(value, &type, &sizes, &rank)) {
    api.find(ort::kReleaseStatus)(status);
    return unsupported("the value is not a tensor");
  }
  dims = {sizes, rank};
  return {};
}

Status view_tensor(const Api& api, const abi::Value* value, TensorScratch& scratch, tensortap_tensor& tensor) {
  int32_t type = 0;
  std::span<const int64_t> dims;
  TENSORTAP_RETURN_IF_ERROR(view_shape(api, value, scratch, type, dims));
  tensor = {};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype_number(onnx_type_of_runtime(type));
  tensor.dims = dims.data();
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.element = -1;
  const std::optional<uint64_t> count = element_count(dims);
  if (!count) return unsupported("the tensor has no definite shape");
  if (tensor.dtype == TENSORTAP_STRING) {
    TENSORTAP_RETURN_IF_ERROR(view_strings(api, value, *count, scratch));
    tensor.data = scratch.strings.data();
    return {};
  }
  return data_of(api, value, &tensor.data);
}

Result<OwnedValue> allocate_value(const Api& api, int32_t element_type, const std::vector<int64_t>& dims) {
  abi::Allocator* allocator = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetAllocatorWithDefaultOptions, &allocator));
  abi::Value* value = nullptr;
  TENSORTAP_RETURN_IF_ERROR(
      api.call(ort::kCreateTensorAsOrtValue, allocator, dims.data(), dims.size(), runtime_type_of(element_type, api.release()), &value));
  return api.own(ort::kReleaseValue, value);
}

Result<OwnedValue> make_value(const Api& api, const tensortap_tensor& tensor) {
  const int32_t type = onnx_type_of(tensor.dtype);
  const std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  const std::optional<uint64_t> count = element_count(dims);
  const std::optional<uint64_t> bytes = packed_bytes(dtype_of(tensor.dtype), count.value_or(UINT64_MAX));
  if (type == 0 || !count || (!bytes && tensor.dtype != TENSORTAP_STRING))
    return invalid_argument("the tensor's type or shape is impossible");
  TENSORTAP_ASSIGN_OR_RETURN(OwnedValue value, allocate_value(api, type, dims));
  if (*count == 0) return value;
  if (tensor.data == nullptr) return invalid_argument("the tensor has no data");
  if (tensor.dtype == TENSORTAP_STRING) {
    TENSORTAP_RETURN_IF_ERROR(fill_strings(api, tensor, *count, value.get()));
    return value;
  }
  void* target = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorMutableData, value.get(), &target));
  if (is_contiguous(tensor)) {
    std::memcpy(target, tensor.data, *bytes);
  } else if (dtype_bits(tensor.dtype) % 8 == 0) {
    copy_strided(tensor, dtype_bits(tensor.dtype) / 8, static_cast<char*>(target));
  } else {
    return unsupported("a tensor of packed elements must be contiguous");
  }
  return value;
}

Result<OwnedValue> copy_value(const Api& api, const abi::Value* value) {
  TensorScratch scratch;
  tensortap_tensor tensor{};
  TENSORTAP_RETURN_IF_ERROR(view_tensor(api, value, scratch, tensor));
  return make_value(api, tensor);
}

Result<OwnedValue> make_sequence(const Api& api, const std::vector<OwnedValue>& elements) {
  std::vector<const abi::Value*> pointers;
  for (const OwnedValue& element : elements) pointers.push_back(element.get());
  return join_values(api, pointers, abi::kValueSequence);
}

Result<OwnedValue> make_map(const Api& api, const OwnedValue& keys, const OwnedValue& values) {
  return join_values(api, {keys.get(), values.get()}, abi::kValueMap);
}

Result<std::vector<OwnedValue>> elements_of(const Api& api, const abi::Value* value) {
  abi::Allocator* allocator = nullptr;
  size_t count = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetAllocatorWithDefaultOptions, &allocator));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValueCount, value, &count));
  std::vector<OwnedValue> elements;
  for (size_t i = 0; i < count; ++i) {
    abi::Value* element = nullptr;
    TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValue, value, static_cast<int>(i), allocator, &element));
    elements.push_back(api.own(ort::kReleaseValue, element));
  }
  return elements;
}

Result<std::string> difference(const Api& api, const abi::Value* a, const abi::Value* b) {
  int has_a = 0;
  int has_b = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kHasValue, a, &has_a));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kHasValue, b, &has_b));
  if (has_a != has_b) return std::string("only one has a value");
  if (has_a == 0) return std::string();
  int32_t type_a = 0;
  int32_t type_b = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValueType, a, &type_a));
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValueType, b, &type_b));
  if (type_a != type_b) return std::string("kinds of value differ");
  if (type_a == abi::kValueTensor) {
    TensorScratch scratch_a;
    TensorScratch scratch_b;
    tensortap_tensor tensor_a{};
    tensortap_tensor tensor_b{};
    TENSORTAP_RETURN_IF_ERROR(view_tensor(api, a, scratch_a, tensor_a));
    TENSORTAP_RETURN_IF_ERROR(view_tensor(api, b, scratch_b, tensor_b));
    return tensor_difference(tensor_a, tensor_b);
  }
  TENSORTAP_ASSIGN_OR_RETURN(const auto elements_a, elements_of(api, a));
  TENSORTAP_ASSIGN_OR_RETURN(const auto elements_b, elements_of(api, b));
  if (elements_a.size() != elements_b.size()) return concat("lengths differ: ", elements_a.size(), " and ", elements_b.size());
  for (size_t i = 0; i < elements_a.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string inner, difference(api, elements_a[i].get(), elements_b[i].get()));
    if (!inner.empty()) return concat("item ", i, ": ", inner);
  }
  return std::string();
}

}  // namespace tensortap::onnxruntime
