#include "source/ggml/tensor_values.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

// What is copied or dequantised at once; more is not kept in the memory of a guest.
constexpr uint64_t kMostCopiedBytes = uint64_t{2} << 30;

constexpr const char* kTooLarge = "quantised or device tensor of more than 2 GiB";
constexpr const char* kNoMemory = "no memory for a copy of the tensor";
constexpr const char* kNoData = "tensor without memory";
constexpr const char* kNotReadable = "tensor in a buffer of ggml that cannot be read back, such as repacked weights";
constexpr const char* kNoDequantiser = "block type without an exported dequantiser";
constexpr const char* kOddStrides = "tensor whose strides are no whole numbers of elements";
constexpr const char* kOddRows = "rows of a KV cache whose places are not known";

using FourNumbers = std::array<int64_t, kMostDimensions>;

struct PlainType {
  std::string_view name;
  uint32_t dtype;
};
constexpr std::array<PlainType, 8> kPlainTypes = {{{"f32", TENSORTAP_FLOAT32},
                                                   {"f16", TENSORTAP_FLOAT16},
                                                   {"bf16", TENSORTAP_BFLOAT16},
                                                   {"f64", TENSORTAP_FLOAT64},
                                                   {"i8", TENSORTAP_INT8},
                                                   {"i16", TENSORTAP_INT16},
                                                   {"i32", TENSORTAP_INT32},
                                                   {"i64", TENSORTAP_INT64}}};

// Backends whose buffers ggml_backend_tensor_get() reads. Others, such as CPU_REPACK, hold another arrangement and cannot be asked.
constexpr std::array<std::string_view, 8> kDevices = {"CUDA", "ROCm", "MUSA", "Vulkan", "Metal", "MTL", "SYCL", "CANN"};

bool can_be_fetched(const char* buffer_name) {
  const std::string_view name = buffer_name == nullptr ? "" : buffer_name;
  return std::ranges::any_of(kDevices, [name](std::string_view device) { return name.starts_with(device); });
}

uint32_t rank_of(const FourNumbers& ne) {
  uint32_t rank = kMostDimensions;
  while (rank > 1 && ne[rank - 1] == 1) --rank;
  return rank;
}

// The product; nothing when a number is negative or it is too large.
std::optional<uint64_t> count_of(const FourNumbers& ne) {
  uint64_t count = 1;
  for (const int64_t size : ne) {
    if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) return std::nullopt;
  }
  return count;
}

// ggml's first dimension is the fastest, ours the slowest.
void set_shape(const FourNumbers& ne, uint32_t least, ValueScratch& scratch, tensortap_tensor& described) {
  const uint32_t rank = std::min<uint32_t>(std::max(rank_of(ne), least), kMostDimensions);
  for (uint32_t i = 0; i < rank; ++i) scratch.dims[i] = ne[rank - 1 - i];
  described.rank = rank;
  described.dims = scratch.dims.data();
}

tensortap_tensor empty_description() {
  tensortap_tensor described{};
  described.size = sizeof(described);
  described.slot_kind = TENSORTAP_SLOT_OUTPUT;
  described.element = -1;
  return described;
}

bool make_room(std::vector<std::byte>& memory, uint64_t bytes) {
  try {
    memory.resize(bytes);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Calls take(bytes of the row) for each row along the first dimension, in order; ends when it returns false.
template <class Take>
bool each_row(const std::byte* bytes, const FourNumbers& ne, const FourNumbers& nb, Take&& take) {
  for (int64_t i3 = 0; i3 < ne[3]; ++i3) {
    for (int64_t i2 = 0; i2 < ne[2]; ++i2) {
      for (int64_t i1 = 0; i1 < ne[1]; ++i1) {
        if (!take(bytes + i1 * nb[1] + i2 * nb[2] + i3 * nb[3], i1, i2, i3)) return false;
      }
    }
  }
  return true;
}

// A row of blocks as floats, or a row of elements as it is.
void copy_row(const ElementType& type, const std::byte* row, int64_t count, std::byte* to) {
  if (type.dequantize != nullptr) {
    type.dequantize(row, reinterpret_cast<float*>(to), count);
  } else {
    std::memcpy(to, row, static_cast<size_t>(count) * type.block_bytes);
  }
}

size_t result_bytes(const ElementType& type) { return type.dequantize != nullptr ? sizeof(float) : type.block_bytes; }

// Whether rows of so many elements can be copied one by one.
bool has_whole_rows(const ElementType& type, const FourNumbers& ne, const FourNumbers& nb) {
  return type.block_elements > 0 && ne[0] % type.block_elements == 0 && nb[0] == static_cast<int64_t>(type.block_bytes);
}

}  // namespace

const ElementType& TensorValues::type_of(GgmlTensor tensor) {
  const int32_t number = tensor.type();
  const std::lock_guard lock(mutex_);
  const auto known = types_.find(number);
  if (known != types_.end()) return known->second;
  const GgmlFunctions& ggml = library_.functions();
  ElementType& type = types_[number];
  const char* name = ggml.type_name(number);
  type.name = name == nullptr ? "" : name;
  type.block_bytes = ggml.type_size(number);
  type.block_elements = ggml.blck_size(number);
  for (const PlainType& plain : kPlainTypes) {
    if (plain.name == type.name) type.dtype = plain.dtype;
  }
  if (type.dtype == TENSORTAP_UNDEFINED && !type.name.empty()) {
    type.dequantize = library_.dequantizer(type.name);
    if (type.dequantize != nullptr) type.dtype = TENSORTAP_FLOAT32;
  }
  return type;
}

void* TensorValues::buffer_of(GgmlTensor tensor) {
  void* buffer = tensor.buffer();
  return buffer != nullptr ? buffer : tensor.base().buffer();
}

std::string TensorValues::block_type(GgmlTensor tensor) {
  const ElementType& type = type_of(tensor);
  return type.block_elements > 1 ? type.name : std::string();
}

bool TensorValues::is_rearranged(GgmlTensor tensor) const {
  const GgmlFunctions& ggml = library_.functions();
  void* buffer = buffer_of(tensor);
  return buffer != nullptr && !ggml.buffer_is_host(buffer) && !can_be_fetched(ggml.buffer_name(buffer));
}

uint64_t TensorValues::stored_bytes(GgmlTensor tensor) {
  const ElementType& type = type_of(tensor);
  const FourNumbers ne = tensor.ne();
  const std::optional<uint64_t> count = count_of(ne);
  if (!count || type.block_elements <= 0 || ne[0] % type.block_elements != 0) return 0;
  uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(*count / static_cast<uint64_t>(type.block_elements), type.block_bytes, &bytes);
  return fits && bytes <= kMostCopiedBytes ? bytes : 0;
}

const char* TensorValues::bytes_of(GgmlTensor tensor, std::vector<std::byte>& fetched, const std::byte*& bytes) const {
  const GgmlFunctions& ggml = library_.functions();
  void* buffer = buffer_of(tensor);
  bytes = static_cast<const std::byte*>(tensor.data());
  if (bytes == nullptr) return kNoData;
  if (buffer == nullptr || ggml.buffer_is_host(buffer)) return nullptr;
  if (!can_be_fetched(ggml.buffer_name(buffer))) return kNotReadable;
  const size_t size = ggml.nbytes(tensor.address());
  if (size > kMostCopiedBytes) return kTooLarge;
  if (!make_room(fetched, size)) return kNoMemory;
  ggml.tensor_get(tensor.address(), fetched.data(), 0, size);
  bytes = fetched.data();
  return nullptr;
}

const char* TensorValues::describe(GgmlTensor tensor, uint32_t rank, ValueScratch& scratch, tensortap_tensor& described) {
  described = empty_description();
  const FourNumbers ne = tensor.ne();
  const ElementType& type = type_of(tensor);
  set_shape(ne, rank, scratch, described);
  described.dtype = type.dtype;
  const std::optional<uint64_t> count = count_of(ne);
  if (type.dtype == TENSORTAP_UNDEFINED || !count) return kNoDequantiser;
  if (*count == 0) return nullptr;
  const std::byte* bytes = nullptr;
  if (const char* reason = bytes_of(tensor, scratch.fetched, bytes)) return reason;
  return describe_bytes(type, bytes, ne, tensor.nb(), scratch, described);
}

const char* TensorValues::describe_fetched(GgmlTensor tensor, ValueScratch& scratch, tensortap_tensor& described) {
  described = empty_description();
  const FourNumbers ne = tensor.ne();
  const ElementType& type = type_of(tensor);
  set_shape(ne, 1, scratch, described);
  described.dtype = type.dtype;
  if (type.dtype == TENSORTAP_UNDEFINED) return kNoDequantiser;
  if (stored_bytes(tensor) != scratch.fetched.size() || scratch.fetched.empty()) return kOddStrides;
  const auto block = static_cast<int64_t>(type.block_bytes);
  FourNumbers nb = {block, ne[0] / type.block_elements * block, 0, 0};
  for (size_t i = 2; i < nb.size(); ++i) nb[i] = nb[i - 1] * ne[i - 1];
  return describe_bytes(type, scratch.fetched.data(), ne, nb, scratch, described);
}

const char* TensorValues::describe_bytes(const ElementType& type, const std::byte* bytes, const FourNumbers& ne, const FourNumbers& nb,
                                         ValueScratch& scratch, tensortap_tensor& described) {
  if (type.dequantize == nullptr) {
    const auto element = static_cast<int64_t>(type.block_bytes);
    if (element == 0 || std::ranges::any_of(nb, [element](int64_t stride) { return stride % element != 0; })) return kOddStrides;
    for (uint32_t i = 0; i < described.rank; ++i) scratch.strides[i] = nb[described.rank - 1 - i] / element;
    described.strides = scratch.strides.data();
    described.data = bytes;
    return nullptr;
  }
  const uint64_t count = count_of(ne).value_or(0);
  if (!has_whole_rows(type, ne, nb)) return kOddStrides;
  if (count > kMostCopiedBytes / sizeof(float)) return kTooLarge;
  if (!make_room(scratch.packed, count * sizeof(float))) return kNoMemory;
  std::byte* to = scratch.packed.data();
  each_row(bytes, ne, nb, [&](const std::byte* row, int64_t, int64_t, int64_t) {
    copy_row(type, row, ne[0], to);
    to += static_cast<size_t>(ne[0]) * sizeof(float);
    return true;
  });
  described.data = scratch.packed.data();
  return nullptr;
}

const char* TensorValues::describe_written_rows(GgmlTensor tensor, uint32_t rank, ValueScratch& scratch, tensortap_tensor& described) {
  described = empty_description();
  const GgmlTensor given = tensor.source(0);
  const GgmlTensor places = tensor.source(1);
  const ElementType& type = type_of(tensor);
  described.dtype = type.dtype;
  if (!given || !places) return kOddRows;
  const FourNumbers ne = given.ne();
  const FourNumbers whole = tensor.ne();
  const FourNumbers nb = tensor.nb();
  set_shape(ne, rank, scratch, described);
  if (type.dtype == TENSORTAP_UNDEFINED) return kNoDequantiser;
  const uint32_t place_type = type_of(places).dtype;
  const FourNumbers place_ne = places.ne();
  const FourNumbers place_nb = places.nb();
  const std::optional<uint64_t> count = count_of(ne);
  const bool fits = count && ne[0] == whole[0] && ne[2] == whole[2] && ne[3] == whole[3] && place_ne[0] == ne[1] && place_ne[1] > 0 &&
                    place_ne[2] > 0 && (place_type == TENSORTAP_INT64 || place_type == TENSORTAP_INT32) && has_whole_rows(type, whole, nb);
  if (!fits) return kOddRows;
  if (*count > kMostCopiedBytes / result_bytes(type)) return kTooLarge;
  const std::byte* bytes = nullptr;
  if (const char* reason = bytes_of(tensor, scratch.fetched, bytes)) return reason;
  std::vector<std::byte> fetched_places;
  const std::byte* place_bytes = nullptr;
  if (const char* reason = bytes_of(places, fetched_places, place_bytes)) return reason;
  if (!make_room(scratch.packed, *count * result_bytes(type))) return kNoMemory;
  std::byte* to = scratch.packed.data();
  // The rows in the order of what was given; `row` itself is not used, since the places say where each one went.
  const FourNumbers no_bytes{};
  const bool all = each_row(bytes, ne, no_bytes, [&](const std::byte*, int64_t i1, int64_t i2, int64_t i3) {
    const std::byte* at = place_bytes + i1 * place_nb[0] + (i2 % place_ne[1]) * place_nb[1] + (i3 % place_ne[2]) * place_nb[2];
    int64_t row = 0;
    if (place_type == TENSORTAP_INT64) {
      std::memcpy(&row, at, sizeof(row));
    } else {
      int32_t number = 0;
      std::memcpy(&number, at, sizeof(number));
      row = number;
    }
    if (row < 0 || row >= whole[1]) return false;
    copy_row(type, bytes + row * nb[1] + i2 * nb[2] + i3 * nb[3], ne[0], to);
    to += static_cast<size_t>(ne[0]) * result_bytes(type);
    return true;
  });
  if (!all) return kOddRows;
  described.data = scratch.packed.data();
  return nullptr;
}

}  // namespace tensortap::ggml
