#include "source/onnxruntime/last_bit.h"

#include <concepts>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "source/onnxruntime/element_types.h"
#include "source/onnxruntime/number_range.h"

namespace tensortap::onnxruntime {
namespace {

// `infinity` is the pattern of +Inf: patterns without the sign that are not below it are Inf and NaN, and neighbours among the others are
// neighbours among the numbers.
template <std::unsigned_integral Bits>
void move_patterns(void* data, uint64_t count, uint64_t seed, Bits infinity) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  auto* bytes = static_cast<char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    Bits pattern = 0;
    std::memcpy(&pattern, bytes + i * sizeof(Bits), sizeof(Bits));
    const auto magnitude = static_cast<Bits>(pattern & ~kSign);
    if (magnitude == 0 || magnitude >= infinity) continue;
    const bool up = magnitude == 1 || (magnitude + 1 != infinity && (number_at(seed, i) >> 63) != 0);
    pattern = static_cast<Bits>(up ? pattern + 1 : pattern - 1);
    std::memcpy(bytes + i * sizeof(Bits), &pattern, sizeof(Bits));
  }
}

Result<OwnedValue> moved_tensor(const Api& api, const abi::Value* value, uint64_t seed) {
  TENSORTAP_ASSIGN_OR_RETURN(OwnedValue copy, copy_value(api, value));
  TensorScratch scratch;
  int32_t type = 0;
  std::span<const int64_t> dims;
  TENSORTAP_RETURN_IF_ERROR(view_shape(api, copy.get(), scratch, type, dims));
  const DType dtype = dtype_from_onnx(onnx_type_of_runtime(type));
  const uint64_t count = element_count(dims).value_or(0);
  if (count == 0 || dtype == DType::kString) return copy;
  void* data = nullptr;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetTensorMutableData, copy.get(), &data));
  move_by_last_bit(dtype, data, count, seed);
  return copy;
}

}  // namespace

void move_by_last_bit(DType dtype, void* data, uint64_t count, uint64_t seed) {
  switch (dtype) {
    case DType::kFloat64:
      return move_patterns<uint64_t>(data, count, seed, 0x7ff0000000000000);
    case DType::kComplex128:
      return move_patterns<uint64_t>(data, count * 2, seed, 0x7ff0000000000000);
    case DType::kFloat32:
      return move_patterns<uint32_t>(data, count, seed, 0x7f800000);
    case DType::kComplex64:
      return move_patterns<uint32_t>(data, count * 2, seed, 0x7f800000);
    case DType::kFloat16:
      return move_patterns<uint16_t>(data, count, seed, 0x7c00);
    case DType::kBFloat16:
      return move_patterns<uint16_t>(data, count, seed, 0x7f80);
    default:
      return;
  }
}

bool moves_by_last_bit(int32_t element_type) {
  const DType dtype = dtype_from_onnx(element_type);
  return is_floating(dtype) && dtype_info(dtype).bits >= 16;
}

Result<OwnedValue> moved_by_last_bit(const Api& api, OwnedValue value, uint64_t seed) {
  if (value == nullptr) return value;
  int32_t kind = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValueType, value.get(), &kind));
  if (kind == abi::kValueTensor) return moved_tensor(api, value.get(), seed);
  if (kind != abi::kValueSequence && kind != abi::kValueMap) return unsupported("such values cannot be moved by the last bit");
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<OwnedValue> elements, elements_of(api, value.get()));
  if (elements.empty()) return value;
  for (size_t i = kind == abi::kValueMap ? 1 : 0; i < elements.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(elements[i], moved_by_last_bit(api, std::move(elements[i]), number_at(seed, i)));
  }
  return kind == abi::kValueMap ? make_map(api, elements.at(0), elements.at(1)) : make_sequence(api, elements);
}

}  // namespace tensortap::onnxruntime
