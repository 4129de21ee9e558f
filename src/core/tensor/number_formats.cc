#include "tensor/number_formats.h"

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace tensortap {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr float power_of_two(int exponent) {
  float value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

// The meaning of the patterns that are not plain numbers.
enum class Specials { kIeee, kFiniteNan, kUnsignedZero, kNone };

struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
};
constexpr SmallFormat kE4M3FN = {4, 3, 7, Specials::kFiniteNan};
constexpr SmallFormat kE4M3FNUZ = {4, 3, 8, Specials::kUnsignedZero};
constexpr SmallFormat kE5M2 = {5, 2, 15, Specials::kIeee};
constexpr SmallFormat kE5M2FNUZ = {5, 2, 16, Specials::kUnsignedZero};
constexpr SmallFormat kE2M1 = {2, 1, 1, Specials::kNone};

constexpr float decode(const SmallFormat& format, int bits) {
  const int sign_bit = 1 << (format.exponent_bits + format.mantissa_bits);
  const int magnitude = bits & (sign_bit - 1);
  const bool negative = (bits & sign_bit) != 0;
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  if (format.specials == Specials::kUnsignedZero && negative && magnitude == 0) return kNan;
  if (format.specials == Specials::kFiniteNan && magnitude == sign_bit - 1) return kNan;
  float value = 0;
  if (format.specials == Specials::kIeee && exponent == (1 << format.exponent_bits) - 1) {
    value = mantissa != 0 ? kNan : kInfinity;
  } else {
    const int significand = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
    value = static_cast<float>(significand) * power_of_two((exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

template <size_t kSize>
constexpr std::array<float, kSize> make_table(const SmallFormat& format) {
  std::array<float, kSize> table{};
  for (size_t i = 0; i < kSize; ++i) table[i] = decode(format, static_cast<int>(i));
  return table;
}

constexpr std::array<float, 256> make_e8m0_table() {
  std::array<float, 256> table{};
  for (size_t i = 0; i < 255; ++i) table[i] = power_of_two(static_cast<int>(i) - 127);
  table[255] = kNan;
  return table;
}

constexpr auto kE4M3FNTable = make_table<256>(kE4M3FN);
constexpr auto kE4M3FNUZTable = make_table<256>(kE4M3FNUZ);
constexpr auto kE5M2Table = make_table<256>(kE5M2);
constexpr auto kE5M2FNUZTable = make_table<256>(kE5M2FNUZ);
constexpr auto kE8M0Table = make_e8m0_table();
constexpr auto kE2M1Table = make_table<16>(kE2M1);

// Each format as a type with one function: the element `index` of packed data.
template <class T>
T load(const void* data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
struct Plain {
  static T read(const void* data, uint64_t index) { return load<T>(data, index); }
};
struct Bool {
  static uint8_t read(const void* data, uint64_t index) { return load<uint8_t>(data, index) != 0 ? 1 : 0; }
};
struct Half {
  static float read(const void* data, uint64_t index) { return float16_to_float(load<uint16_t>(data, index)); }
};
struct BrainFloat {
  static float read(const void* data, uint64_t index) { return bfloat16_to_float(load<uint16_t>(data, index)); }
};
template <const std::array<float, 256>& kTable>
struct Byte {
  static float read(const void* data, uint64_t index) { return kTable[load<uint8_t>(data, index)]; }
};

template <int kBits>
int read_bits(const void* data, uint64_t index) {
  constexpr uint64_t kPerByte = 8 / kBits;
  const int byte = load<uint8_t>(data, index / kPerByte);
  return (byte >> (kBits * static_cast<int>(index % kPerByte))) & ((1 << kBits) - 1);
}
template <int kBits>
struct PackedUnsigned {
  static uint8_t read(const void* data, uint64_t index) { return static_cast<uint8_t>(read_bits<kBits>(data, index)); }
};
template <int kBits>
struct PackedSigned {
  static int8_t read(const void* data, uint64_t index) {
    const int bits = read_bits<kBits>(data, index);
    return static_cast<int8_t>((bits >> (kBits - 1)) != 0 ? bits - (1 << kBits) : bits);
  }
};
struct PackedE2M1 {
  static float read(const void* data, uint64_t index) { return kE2M1Table[static_cast<size_t>(read_bits<4>(data, index))]; }
};

// Calls visit(reader of the dtype); false for types that are not real numbers.
template <class Visit>
bool with_reader(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(Bool{}), true;
    case DType::kInt8:
      return visit(Plain<int8_t>{}), true;
    case DType::kInt16:
      return visit(Plain<int16_t>{}), true;
    case DType::kInt32:
      return visit(Plain<int32_t>{}), true;
    case DType::kInt64:
      return visit(Plain<int64_t>{}), true;
    case DType::kUInt8:
      return visit(Plain<uint8_t>{}), true;
    case DType::kUInt16:
      return visit(Plain<uint16_t>{}), true;
    case DType::kUInt32:
      return visit(Plain<uint32_t>{}), true;
    case DType::kUInt64:
      return visit(Plain<uint64_t>{}), true;
    case DType::kFloat16:
      return visit(Half{}), true;
    case DType::kBFloat16:
      return visit(BrainFloat{}), true;
    case DType::kFloat32:
      return visit(Plain<float>{}), true;
    case DType::kFloat64:
      return visit(Plain<double>{}), true;
    case DType::kFloat8E4M3FN:
      return visit(Byte<kE4M3FNTable>{}), true;
    case DType::kFloat8E4M3FNUZ:
      return visit(Byte<kE4M3FNUZTable>{}), true;
    case DType::kFloat8E5M2:
      return visit(Byte<kE5M2Table>{}), true;
    case DType::kFloat8E5M2FNUZ:
      return visit(Byte<kE5M2FNUZTable>{}), true;
    case DType::kFloat8E8M0:
      return visit(Byte<kE8M0Table>{}), true;
    case DType::kInt4:
      return visit(PackedSigned<4>{}), true;
    case DType::kUInt4:
      return visit(PackedUnsigned<4>{}), true;
    case DType::kInt2:
      return visit(PackedSigned<2>{}), true;
    case DType::kUInt2:
      return visit(PackedUnsigned<2>{}), true;
    case DType::kUInt1:
      return visit(PackedUnsigned<1>{}), true;
    case DType::kFloat4E2M1:
      return visit(PackedE2M1{}), true;
    default:
      return false;
  }
}

}  // namespace

float float16_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa * 2^-24, exact.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t float_to_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);
  // 65520 and above round to infinity.
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) {
    // Below 2^-14 the result is subnormal: adding 0.5 leaves the mantissa, rounded to even, in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

// 2^(e - 127) is e; 2^-127 is a denormal float.
uint8_t float_to_float8_e8m0(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint8_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? 0xFFU : bits >> 23 & 0xFFU);
}

void pack_elements(const void* elements, uint64_t count, unsigned bits, void* packed) {
  const unsigned per_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1;
  const auto* from = static_cast<const uint8_t*>(elements);
  auto* to = static_cast<uint8_t*>(packed);
  for (uint64_t i = 0; i < count; ++i) {
    const unsigned element = (from[i] & mask) << (bits * (i % per_byte));
    to[i / per_byte] = static_cast<uint8_t>(i % per_byte == 0 ? element : to[i / per_byte] | element);
  }
}

void to_float64(DType dtype, const void* data, uint64_t begin, uint64_t count, double* out) {
  with_reader(dtype, [&](auto reader) {
    for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<double>(reader.read(data, begin + i));
  });
}

void to_float32(DType dtype, const void* data, uint64_t begin, uint64_t count, float* out) {
  with_reader(dtype, [&](auto reader) {
    for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<float>(reader.read(data, begin + i));
  });
}

void to_complex128(DType dtype, const void* data, uint64_t index, double& real, double& imaginary) {
  real = 0;
  imaginary = 0;
  if (dtype == DType::kComplex64) {
    real = static_cast<double>(load<float>(data, 2 * index));
    imaginary = static_cast<double>(load<float>(data, 2 * index + 1));
  } else if (dtype == DType::kComplex128) {
    real = load<double>(data, 2 * index);
    imaginary = load<double>(data, 2 * index + 1);
  } else {
    to_float64(dtype, data, index, 1, &real);
  }
}

void to_int64(DType dtype, const void* data, uint64_t begin, uint64_t count, int64_t* out) {
  with_reader(dtype, [&](auto reader) {
    if constexpr (std::is_integral_v<decltype(reader.read(data, 0))>) {
      for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(reader.read(data, begin + i));
    }
  });
}

FloatLimits float_limits(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {65504.0, 0x1p-14, 0x1p-24};
    case DType::kBFloat16:
      return {0x1.FEp127, 0x1p-126, 0x1p-133};
    case DType::kFloat32:
    case DType::kComplex64:
      return {0x1.FFFFFEp127, 0x1p-126, 0x1p-149};
    case DType::kFloat64:
    case DType::kComplex128:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()};
    case DType::kFloat8E4M3FN:
      return {448.0, 0x1p-6, 0x1p-9};
    case DType::kFloat8E4M3FNUZ:
      return {240.0, 0x1p-7, 0x1p-10};
    case DType::kFloat8E5M2:
      return {57344.0, 0x1p-14, 0x1p-16};
    case DType::kFloat8E5M2FNUZ:
      return {57344.0, 0x1p-15, 0x1p-17};
    case DType::kFloat8E8M0:
      return {0x1p127, 0x1p-127, 0x1p-127};
    case DType::kFloat4E2M1:
      return {6.0, 1.0, 0.5};
    default:
      return {0, 0, 0};
  }
}

}  // namespace tensortap
