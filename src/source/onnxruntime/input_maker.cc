// The generator of inputs that were not given.

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "source/onnxruntime/element_types.h"
#include "source/onnxruntime/input_maker.h"

namespace tensortap::onnxruntime {
namespace {

// FNV-1a of the name, so that two inputs of one shape differ.
uint64_t seed_of(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return number_at(hash, seed);
}

// Multiples of 1/256 in [0, 1): exact in every floating type of 16 bits and more.
float unit(uint64_t number) { return static_cast<float>(number >> 56) / 256.0f; }

uint16_t float16_bits(float value) {  // of a multiple of 1/256 below 1
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::lround((fraction * 2 - 1) * 1024));
  return static_cast<uint16_t>(static_cast<uint32_t>(exponent - 1 + 15) << 10 | mantissa);
}

uint16_t bfloat16_bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

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
    case TENSORTAP_FLOAT32:
      return fill<float>(data, count, seed, unit);
    case TENSORTAP_FLOAT64:
      return fill<double>(data, count, seed, unit);
    case TENSORTAP_COMPLEX64:
      return fill<float>(data, count * 2, seed, unit);
    case TENSORTAP_COMPLEX128:
      return fill<double>(data, count * 2, seed, unit);
    case TENSORTAP_FLOAT16:
      return fill<uint16_t>(data, count, seed, [](uint64_t n) { return float16_bits(unit(n)); });
    case TENSORTAP_BFLOAT16:
      return fill<uint16_t>(data, count, seed, [](uint64_t n) { return bfloat16_bits(unit(n)); });
    case TENSORTAP_FLOAT8_E8M0:  // 2^-3 .. 2^0
      return fill<uint8_t>(data, count, seed, [](uint64_t n) { return static_cast<uint8_t>(124 + (n >> 62)); });
    case TENSORTAP_BOOL:
      return fill<uint8_t>(data, count, seed, bit);
    case TENSORTAP_INT16:
    case TENSORTAP_UINT16:
      return fill<uint16_t>(data, count, seed, bit);
    case TENSORTAP_INT32:
    case TENSORTAP_UINT32:
      return fill<uint32_t>(data, count, seed, bit);
    case TENSORTAP_INT64:
    case TENSORTAP_UINT64:
      return fill<uint64_t>(data, count, seed, bit);
    case TENSORTAP_FLOAT8_E4M3FN:
    case TENSORTAP_FLOAT8_E4M3FNUZ:
    case TENSORTAP_FLOAT8_E5M2:
    case TENSORTAP_FLOAT8_E5M2FNUZ:  // finite and not negative in all four
      return fill<uint8_t>(data, count, seed, [](uint64_t n) { return static_cast<uint8_t>((n >> 56) & 0x37); });
    default: {  // bytes, and integers of less than a byte
      uint64_t bytes = 0;
      if (byte_count(type, count, bytes)) fill<uint8_t>(data, bytes, seed, byte);
    }
  }
}

std::string plain_range(int32_t type) {
  switch (element_type(type).dtype) {
    case TENSORTAP_BOOL:
    case TENSORTAP_INT16:
    case TENSORTAP_UINT16:
    case TENSORTAP_INT32:
    case TENSORTAP_UINT32:
    case TENSORTAP_INT64:
    case TENSORTAP_UINT64:
      return "0 or 1";
    case TENSORTAP_STRING:
      return R"("text 0" to "text 9")";
    case TENSORTAP_FLOAT8_E8M0:
      return "0.125..1";
    case TENSORTAP_FLOAT8_E4M3FN:
    case TENSORTAP_FLOAT8_E4M3FNUZ:
    case TENSORTAP_FLOAT8_E5M2:
    case TENSORTAP_FLOAT8_E5M2FNUZ:
      return "finite and not negative";
    case TENSORTAP_FLOAT4_E2M1:
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
  uint64_t count = 0;
  uint64_t bytes = 0;
  if (!element_count(dims, count) || !byte_count(info.element_type, count, bytes) || bytes > (uint64_t{1} << 40)) {
    return invalid_argument("its size is impossible");
  }
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
