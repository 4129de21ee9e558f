#include "source/onnxruntime/number_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "base/text.h"
#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

// How a floating type of 16 bits or less is made: sign, exponent, mantissa from the highest bit down.
struct SmallFloat {
  uint8_t dtype;
  int bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  int top_specials;  // bit patterns at the top of each sign's half that are no finite number
};

constexpr std::array<SmallFloat, 8> kSmallFloats = {{{TENSORTAP_FLOAT16, 16, 10, 15, true, 1024},
                                                     {TENSORTAP_BFLOAT16, 16, 7, 127, true, 128},
                                                     {TENSORTAP_FLOAT8_E4M3FN, 8, 3, 7, true, 1},
                                                     {TENSORTAP_FLOAT8_E4M3FNUZ, 8, 3, 8, true, 0},
                                                     {TENSORTAP_FLOAT8_E5M2, 8, 2, 15, true, 4},
                                                     {TENSORTAP_FLOAT8_E5M2FNUZ, 8, 2, 16, true, 0},
                                                     {TENSORTAP_FLOAT8_E8M0, 8, 0, 127, false, 1},
                                                     {TENSORTAP_FLOAT4_E2M1, 4, 1, 1, true, 0}}};

const SmallFloat* small_float(uint8_t dtype) {
  const auto* found = std::ranges::find(kSmallFloats, dtype, &SmallFloat::dtype);
  return found == kSmallFloats.end() ? nullptr : found;
}

struct Code {
  double value;
  uint16_t bits;
};

// All finite numbers of a type, in order.
std::vector<Code> codes_of(const SmallFloat& type) {
  const int magnitude_bits = type.bits - (type.has_sign ? 1 : 0);
  const int magnitudes = (1 << magnitude_bits) - type.top_specials;
  std::vector<Code> codes;
  for (int magnitude = 0; magnitude < magnitudes; ++magnitude) {
    const int exponent = magnitude >> type.mantissa_bits;
    const int mantissa = magnitude & ((1 << type.mantissa_bits) - 1);
    const bool subnormal = exponent == 0 && type.has_sign;
    const int significand = subnormal ? mantissa : mantissa + (1 << type.mantissa_bits);
    const double value = std::ldexp(significand, (subnormal ? 1 : exponent) - type.bias - type.mantissa_bits);
    codes.push_back({value, static_cast<uint16_t>(magnitude)});
    if (type.has_sign && magnitude > 0) codes.push_back({-value, static_cast<uint16_t>(magnitude | 1 << magnitude_bits)});
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
NumberRange limits_of(int32_t type) {
  const uint8_t dtype = element_type(type).dtype;
  const int bits = element_type(type).bits;
  switch (dtype) {
    case TENSORTAP_BOOL:
      return {0, 1};
    case TENSORTAP_FLOAT32:
    case TENSORTAP_COMPLEX64:
      return {-static_cast<long double>(std::numeric_limits<float>::max()), static_cast<long double>(std::numeric_limits<float>::max())};
    case TENSORTAP_FLOAT64:
    case TENSORTAP_COMPLEX128:
      return {-static_cast<long double>(std::numeric_limits<double>::max()), static_cast<long double>(std::numeric_limits<double>::max())};
    case TENSORTAP_INT2:
    case TENSORTAP_INT4:
    case TENSORTAP_INT8:
    case TENSORTAP_INT16:
    case TENSORTAP_INT32:
    case TENSORTAP_INT64:
      return {-std::ldexp(1.0L, bits - 1), std::ldexp(1.0L, bits - 1) - 1};
    default:
      break;
  }
  if (const SmallFloat* small = small_float(dtype); small != nullptr) {
    const std::vector<Code> codes = codes_of(*small);
    return {static_cast<long double>(codes.front().value), static_cast<long double>(codes.back().value)};
  }
  return {0, std::ldexp(1.0L, bits) - 1};
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

// Puts the low bits of a number where the element stands; `data` is zero there.
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

void fill_small_floats(const SmallFloat& type, void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const std::vector<Code> codes = codes_of(type);
  const NumberRange held = held_range(codes, range);
  for (uint64_t i = 0; i < count; ++i) {
    const size_t code = nearest_code(codes, spread(held, number_at(seed, i)));
    put_bits(static_cast<unsigned char*>(data), static_cast<size_t>(type.bits), i, codes[code].bits);
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
  switch (onnxruntime::element_type(element_type).dtype) {
    case TENSORTAP_UNDEFINED:
    case TENSORTAP_STRING:
    case TENSORTAP_FLOAT32:
    case TENSORTAP_FLOAT64:
    case TENSORTAP_COMPLEX64:
    case TENSORTAP_COMPLEX128:
      return false;
    default:
      return small_float(onnxruntime::element_type(element_type).dtype) == nullptr;
  }
}

long double largest_whole(int32_t element_type) { return is_whole(element_type) ? limits_of(element_type).high : 0; }

Status check_range(int32_t element_type, const NumberRange& range) {
  const std::string name(onnxruntime::element_type(element_type).name);
  if (element_type == kElementString || onnxruntime::element_type(element_type).dtype == TENSORTAP_UNDEFINED)
    return invalid_argument(concat("numbers of a range cannot be made for ", name));
  const NumberRange limits = limits_of(element_type);
  if (range.low < limits.low || range.high > limits.high)
    return invalid_argument(concat(to_text(range), " is out of range for ", name, ", which holds ", to_text(limits)));
  if (is_whole(element_type) && std::ceil(range.low) > std::floor(range.high))
    return invalid_argument(concat("no whole number lies in ", to_text(range), ", and ", name, " holds no others"));
  return {};
}

void fill_range(int32_t element_type, void* data, uint64_t count, uint64_t seed, const NumberRange& range) {
  const ElementType& type = onnxruntime::element_type(element_type);
  uint64_t bytes = 0;
  if (!byte_count(element_type, count, bytes) || bytes == 0) return;
  switch (type.dtype) {
    case TENSORTAP_FLOAT32:
      return fill_floats<float>(data, count, seed, range);
    case TENSORTAP_FLOAT64:
      return fill_floats<double>(data, count, seed, range);
    case TENSORTAP_COMPLEX64:
      return fill_floats<float>(data, count * 2, seed, range);
    case TENSORTAP_COMPLEX128:
      return fill_floats<double>(data, count * 2, seed, range);
    default:
      break;
  }
  if (type.bits < 8) std::memset(data, 0, bytes);
  if (const SmallFloat* small = small_float(type.dtype); small != nullptr) return fill_small_floats(*small, data, count, seed, range);
  fill_whole(type.bits, data, count, seed, range);
}

uint64_t number_at(uint64_t seed, uint64_t position) {
  uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace tensortap::onnxruntime
