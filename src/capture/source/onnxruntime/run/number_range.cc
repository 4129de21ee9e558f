#include "source/onnxruntime/run/number_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "tensor/number_formats.h"

namespace tensortap::onnxruntime {
namespace {

// Whether a type's numbers are few enough to list them all.
bool is_small_float(const DTypeInfo& type) { return type.kind == DTypeKind::kFloat && type.bits <= 16; }

struct Code {
  double value;
  uint16_t bits;
};

// All finite numbers of a type, in order; zero once.
std::vector<Code> codes_of(const DTypeInfo& type) {
  std::vector<Code> codes;
  for (uint32_t bits = 0; bits < 1U << type.bits; ++bits) {
    double value = 0;
    to_float64(type.dtype, &bits, 0, 1, &value);
    if (std::isfinite(value) && !(value == 0 && std::signbit(value))) codes.push_back({value, static_cast<uint16_t>(bits)});
  }
  std::ranges::sort(codes, {}, &Code::value);
  return codes;
}

size_t nearest_code(const std::vector<Code>& codes, long double value) {
  const auto above = std::ranges::lower_bound(codes, static_cast<double>(value), {}, &Code::value);
  if (above == codes.begin()) return 0;
  if (above == codes.end()) return codes.size() - 1;
  const auto place = static_cast<size_t>(above - codes.begin());
  return value - static_cast<long double>(codes[place - 1].value) <= static_cast<long double>(above->value) - value ? place - 1 : place;
}

// The numbers that a type reaches, whole or floating.
NumberRange limits_of(int32_t element_type) {
  const DTypeInfo& type = onnxruntime::element_type(element_type);
  if (type.kind == DTypeKind::kBool) return {0, 1};
  if (type.kind == DTypeKind::kSigned) return {-std::ldexp(1.0L, type.bits - 1), std::ldexp(1.0L, type.bits - 1) - 1};
  if (!is_floating(type.dtype)) return {0, std::ldexp(1.0L, type.bits) - 1};
  const FloatLimits limits = float_limits(type.dtype);
  const double lowest = type.dtype == DType::kFloat8E8M0 ? limits.smallest : -limits.largest;  // it has no sign
  return {static_cast<long double>(lowest), static_cast<long double>(limits.largest)};
}

std::string end_text(long double end) {
  const bool is_exact = end >= static_cast<long double>(INT64_MIN) && end <= static_cast<long double>(UINT64_MAX) && std::floor(end) == end;
  if (is_exact) return end < 0 ? tensortap::to_text(static_cast<int64_t>(end)) : tensortap::to_text(static_cast<uint64_t>(end));
  return tensortap::to_text(static_cast<double>(end));
}

// In [0, 1), with 53 bits.
long double fraction_of(uint64_t number) { return std::ldexp(static_cast<long double>(number >> 11), -53); }

long double spread(const NumberRange& range, uint64_t number) { return range.low + (range.high - range.low) * fraction_of(number); }

template <class T>
void fill_floats(void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const NumberRange held{static_cast<long double>(static_cast<T>(range.low)), static_cast<long double>(static_cast<T>(range.high))};
  auto* elements = static_cast<char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    const T element = static_cast<T>(spread(held, number_at(seed, i)));
    std::memcpy(elements + i * sizeof(T), &element, sizeof(T));
  }
}

// Puts the low bits of a number where the element is; `data` is zero there.
void put_bits(unsigned char* data, size_t bits, uint64_t index, uint64_t number) {
  if (bits >= 8) {
    std::memcpy(data + index * (bits / 8), &number, bits / 8);
  } else {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    data[index * bits / 8] = static_cast<unsigned char>(data[index * bits / 8] | (number & mask) << (index * bits % 8));
  }
}

// The range within the numbers of a type; where none lies in it, the nearest.
NumberRange held_range(const std::vector<Code>& codes, const NumberRange& range) {
  const auto first = std::ranges::lower_bound(codes, static_cast<double>(range.low), {}, &Code::value);
  const auto end = std::ranges::upper_bound(codes, static_cast<double>(range.high), {}, &Code::value);
  if (first < end) return {static_cast<long double>(first->value), static_cast<long double>(std::prev(end)->value)};
  const auto nearest = static_cast<long double>(codes[nearest_code(codes, range.low)].value);
  return {nearest, nearest};
}

void fill_small_floats(const DTypeInfo& type, void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const std::vector<Code> codes = codes_of(type);
  const NumberRange held = held_range(codes, range);
  for (uint64_t i = 0; i < count; ++i) {
    const size_t code = nearest_code(codes, spread(held, number_at(seed, i)));
    put_bits(static_cast<unsigned char*>(data), type.bits, i, codes[code].bits);
  }
}

void fill_whole(size_t bits, void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const long double low = std::ceil(range.low);
  const auto first = low < 0 ? static_cast<uint64_t>(static_cast<int64_t>(low)) : static_cast<uint64_t>(low);
  const auto more = static_cast<uint64_t>(std::floor(range.high) - low);  // numbers after the first
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = number_at(seed, i);
    put_bits(static_cast<unsigned char*>(data), bits, i, first + (more == UINT64_MAX ? number : number % (more + 1)));
  }
}

}  // namespace

std::string to_text(const NumberRange& range) { return end_text(range.low) + ".." + end_text(range.high); }

bool is_whole(int32_t element_type) {
  const DTypeKind kind = onnxruntime::element_type(element_type).kind;
  return kind == DTypeKind::kBool || kind == DTypeKind::kSigned || kind == DTypeKind::kUnsigned;
}

long double largest_whole(int32_t element_type) { return is_whole(element_type) ? limits_of(element_type).high : 0; }

Status check_range(int32_t element_type, const NumberRange& range) {
  const std::string name(onnxruntime::element_type(element_type).name);
  if (element_type == kElementString || onnxruntime::element_type(element_type).dtype == DType::kUndefined)
    return invalid_argument(concat("numbers of a range cannot be made for ", name));
  const NumberRange limits = limits_of(element_type);
  if (range.low < limits.low || range.high > limits.high)
    return invalid_argument(concat(to_text(range), " is out of range for ", name, ", which holds ", to_text(limits)));
  if (is_whole(element_type) && std::ceil(range.low) > std::floor(range.high))
    return invalid_argument(concat("no whole number lies in ", to_text(range), ", and ", name, " holds no others"));
  return {};
}

void fill_range(int32_t element_type, void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const DTypeInfo& type = onnxruntime::element_type(element_type);
  const uint64_t bytes = packed_bytes(type.dtype, count).value_or(0);
  if (bytes == 0) return;
  if (type.bits < 8) std::memset(data, 0, bytes);
  switch (type.dtype) {
    case DType::kFloat32:
      return fill_floats<float>(data, count, seed, range);
    case DType::kFloat64:
      return fill_floats<double>(data, count, seed, range);
    case DType::kComplex64:
      return fill_floats<float>(data, count * 2, seed, range);
    case DType::kComplex128:
      return fill_floats<double>(data, count * 2, seed, range);
    default:
      return is_small_float(type) ? fill_small_floats(type, data, count, seed, range) : fill_whole(type.bits, data, count, seed, range);
  }
}

uint64_t number_at(uint64_t seed, uint64_t position) {
  uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace tensortap::onnxruntime
