#include "source/onnxruntime/run/last_bit.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "source/onnxruntime/run/number_range.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "tensor/number_formats.h"

namespace tensortap::onnxruntime {
namespace {

// `infinity` is the pattern of +Inf: patterns without the sign that are not below it are Inf and NaN, and neighbours among the others are
// neighbours among the numbers.
template <std::unsigned_integral Bits>
bool has_neighbours(Bits pattern, Bits infinity) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = static_cast<Bits>(pattern & ~kSign);
  return magnitude != 0 && magnitude < infinity;
}

// The pattern must have neighbours.
template <std::unsigned_integral Bits>
Bits neighbour(Bits pattern, Bits infinity, uint64_t random) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = static_cast<Bits>(pattern & ~kSign);
  const bool up = magnitude == 1 || (magnitude + 1 != infinity && (random >> 63) != 0);
  return static_cast<Bits>(up ? pattern + 1 : pattern - 1);
}

template <std::unsigned_integral Bits>
void move_patterns(void* data, uint64_t count, uint64_t seed, Bits infinity) {
  auto* bytes = static_cast<char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    Bits pattern = 0;
    std::memcpy(&pattern, bytes + i * sizeof(Bits), sizeof(Bits));
    if (!has_neighbours(pattern, infinity)) continue;
    pattern = neighbour(pattern, infinity, number_at(seed, i));
    std::memcpy(bytes + i * sizeof(Bits), &pattern, sizeof(Bits));
  }
}

// A type that numbers are converted to, by its patterns.
struct Float16 {
  using Bits = uint16_t;
  static constexpr Bits kInfinity = 0x7c00;
  static Bits from(double value) { return float_to_float16(static_cast<float>(value)); }
  static double to_double(Bits bits) { return float16_to_float(bits); }
};
struct BFloat16 {
  using Bits = uint16_t;
  static constexpr Bits kInfinity = 0x7f80;
  static Bits from(double value) { return float_to_bfloat16(static_cast<float>(value)); }
  static double to_double(Bits bits) { return bfloat16_to_float(bits); }
};
struct Float32 {
  using Bits = uint32_t;
  static constexpr Bits kInfinity = 0x7f800000;
  static Bits from(double value) { return std::bit_cast<Bits>(static_cast<float>(value)); }
  static double to_double(Bits bits) { return std::bit_cast<float>(bits); }
};

template <class Number, class Narrow>
void move_as(DType dtype, void* data, uint64_t count, uint64_t seed) {
  auto* bytes = static_cast<char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    Number number = 0;
    std::memcpy(&number, bytes + i * sizeof(Number), sizeof(Number));
    const auto there = Narrow::from(static_cast<double>(number));
    if (!has_neighbours(there, Narrow::kInfinity)) {
      move_by_last_bit(dtype, bytes + i * sizeof(Number), 1, number_at(seed, i));
      continue;
    }
    const double neighbouring = Narrow::to_double(neighbour(there, Narrow::kInfinity, number_at(seed, i)));
    const double moved = static_cast<double>(number) + (neighbouring - Narrow::to_double(there));
    // Where the units become smaller, a step of the smaller unit may round back.
    number = static_cast<Number>(Narrow::from(moved) == there ? neighbouring : moved);
    std::memcpy(bytes + i * sizeof(Number), &number, sizeof(Number));
  }
}

template <class Number>
bool moves_as(DType dtype, DType read_as, void* data, uint64_t count, uint64_t seed) {
  if (read_as == DType::kFloat16) {
    move_as<Number, Float16>(dtype, data, count, seed);
  } else if (read_as == DType::kBFloat16) {
    move_as<Number, BFloat16>(dtype, data, count, seed);
  } else if (read_as == DType::kFloat32 && sizeof(Number) > sizeof(float)) {
    move_as<Number, Float32>(dtype, data, count, seed);
  } else {
    return false;
  }
  return true;
}

Result<OwnedValue> moved_tensor(const Api& api, const abi::Value* value, DType read_as, uint64_t seed) {
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
  move_by_last_bit(dtype, read_as, data, count, seed);
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

void move_by_last_bit(DType dtype, DType read_as, void* data, uint64_t count, uint64_t seed) {
  if (dtype == DType::kFloat32 && moves_as<float>(dtype, read_as, data, count, seed)) return;
  if (dtype == DType::kFloat64 && moves_as<double>(dtype, read_as, data, count, seed)) return;
  move_by_last_bit(dtype, data, count, seed);
}

bool moves_by_last_bit(int32_t element_type) {
  const DType dtype = dtype_from_onnx(element_type);
  return is_floating(dtype) && dtype_info(dtype).bits >= 16;
}

Result<OwnedValue> moved_by_last_bit(const Api& api, OwnedValue value, DType read_as, uint64_t seed) {
  if (value == nullptr) return value;
  int32_t kind = 0;
  TENSORTAP_RETURN_IF_ERROR(api.call(ort::kGetValueType, value.get(), &kind));
  if (kind == abi::kValueTensor) return moved_tensor(api, value.get(), read_as, seed);
  if (kind != abi::kValueSequence && kind != abi::kValueMap) return unsupported("such values cannot be moved by the last bit");
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<OwnedValue> elements, elements_of(api, value.get()));
  if (elements.empty()) return value;
  for (size_t i = kind == abi::kValueMap ? 1 : 0; i < elements.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(elements[i], moved_by_last_bit(api, std::move(elements[i]), read_as, number_at(seed, i)));
  }
  return kind == abi::kValueMap ? make_map(api, elements.at(0), elements.at(1)) : make_sequence(api, elements);
}

}  // namespace tensortap::onnxruntime
