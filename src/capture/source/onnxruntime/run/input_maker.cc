// The generator of inputs that were not given.

#include <cmath>
#include <cstring>

#include "base/fnv.h"
#include "base/text.h"
#include "source/onnxruntime/run/input_maker.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "tensor/number_formats.h"

namespace tensortap::onnxruntime {
namespace {

// With the name, so that two inputs of one shape differ.
uint64_t seed_of(uint64_t seed, std::string_view name) { return number_at(hash_more(kFirstHash, name), seed); }

// Multiples of 1/256 in [0, 1): exact in every floating type of 16 bits and more.
float unit(uint64_t number) { return static_cast<float>(number >> 56) / 256.0f; }

template <class T, class Make>
void fill(void* data, uint64_t count, uint64_t seed, Make make) {
  auto* elements = static_cast<char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    const T element = make(number_at(seed, i));
    std::memcpy(elements + i * sizeof(T), &element, sizeof(T));
  }
}

// Small integers are ids, indices and masks more often than not: 0 and 1 are in range for all of them. Bytes are pixels or quantised
// values and take the whole range.
void fill_elements(int32_t type, void* data, uint64_t count, uint64_t seed) {
  const auto bit = [](uint64_t n) { return n >> 63; };
  const auto byte = [](uint64_t n) { return static_cast<uint8_t>(n >> 56); };
  switch (element_type(type).dtype) {
    case DType::kFloat32:
      return fill<float>(data, count, seed, unit);
    case DType::kFloat64:
      return fill<double>(data, count, seed, unit);
    case DType::kComplex64:
      return fill<float>(data, count * 2, seed, unit);
    case DType::kComplex128:
      return fill<double>(data, count * 2, seed, unit);
    case DType::kFloat16:
      return fill<uint16_t>(data, count, seed, [](uint64_t n) { return float_to_float16(unit(n)); });
    case DType::kBFloat16:
      return fill<uint16_t>(data, count, seed, [](uint64_t n) { return float_to_bfloat16(unit(n)); });
    case DType::kFloat8E8M0:  // 2^-3 .. 2^0
      return fill<uint8_t>(data, count, seed, [](uint64_t n) { return static_cast<uint8_t>(124 + (n >> 62)); });
    case DType::kBool:
      return fill<uint8_t>(data, count, seed, bit);
    case DType::kInt16:
    case DType::kUInt16:
      return fill<uint16_t>(data, count, seed, bit);
    case DType::kInt32:
    case DType::kUInt32:
      return fill<uint32_t>(data, count, seed, bit);
    case DType::kInt64:
    case DType::kUInt64:
      return fill<uint64_t>(data, count, seed, bit);
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:  // finite and not negative in all four
      return fill<uint8_t>(data, count, seed, [](uint64_t n) { return static_cast<uint8_t>((n >> 56) & 0x37); });
    default:  // bytes, and integers of less than a byte
      return fill<uint8_t>(data, packed_bytes(dtype_from_onnx(type), count).value_or(0), seed, byte);
  }
}

std::string plain_range(int32_t type) {
  switch (element_type(type).dtype) {
    case DType::kBool:
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kInt32:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kUInt64:
      return "0 or 1";
    case DType::kString:
      return R"("text 0" to "text 9")";
    case DType::kFloat8E8M0:
      return "0.125..1";
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return "finite and not negative";
    case DType::kFloat4E2M1:
      return "all values of float4_e2m1";
    default:
      return is_whole(type) ? concat("all values of ", element_type(type).name) : "uniform 0..1";
  }
}

}  // namespace

std::string made_text(int32_t element_type, const MadeRange& range) {
  if (!range.numbers.has_value()) return plain_range(element_type);
  const std::string numbers = to_text(*range.numbers);
  if (!is_whole(element_type)) return concat("uniform ", numbers);
  return range.reason.empty() ? numbers : concat(numbers, " from the height of ", range.reason);
}

Result<OwnedValue> make_input(const Api& api, const ValueInfo& info, const std::vector<int64_t>& dims, const MadeRange& range) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  const uint64_t count = element_count(dims).value_or(UINT64_MAX);
  if (count > kMostBytes * 8 || packed_bytes(dtype_from_onnx(info.element_type), count).value_or(0) > kMostBytes)
    return invalid_argument("its size is impossible");
  if (range.numbers.has_value()) TENSORTAP_RETURN_IF_ERROR(check_range(info.element_type, *range.numbers));
  const uint64_t own_seed = seed_of(range.seed, info.name);
  if (info.element_type == kElementString) {
    std::vector<std::string> texts(count);
    std::vector<tensortap_string> strings;
    for (uint64_t i = 0; i < count; ++i) texts[i] = concat("text ", number_at(own_seed, i) % 10);
    for (const std::string& text : texts) strings.push_back({text.data(), text.size()});
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_STRING;
    tensor.data = strings.data();
    tensor.dims = dims.data();
    tensor.rank = static_cast<uint32_t>(dims.size());
    return make_value(api, tensor);
  }
  TENSORTAP_ASSIGN_OR_RETURN(OwnedValue value, allocate_value(api, info.element_type, dims));
  void* data = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorMutableData, value.get(), &data));
  if (count == 0) return value;
  if (range.numbers.has_value()) {
    fill_range(info.element_type, data, count, own_seed, *range.numbers);
  } else {
    fill_elements(info.element_type, data, count, own_seed);
  }
  return value;
}

}  // namespace tensortap::onnxruntime
