// The types of elements that the kernel of kernel_code.h measures, and how it reads them. Compiled as that file is.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_ELEMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_ELEMENTS_H_

#ifdef __CUDACC__
#define TENSORTAP_DEVICE __device__ __forceinline__
#define TENSORTAP_UNROLL _Pragma("unroll")
#define TENSORTAP_ONE_BY_ONE _Pragma("unroll 1")
#else
#define TENSORTAP_DEVICE inline
#define TENSORTAP_UNROLL
#define TENSORTAP_ONE_BY_ONE
#endif

namespace tensortap::device_kernel {

using Byte = unsigned char;
using Half = unsigned short;
using Word = unsigned int;
using Long = unsigned long long;
using Signed = long long;

union Bits {
  float number;
  Word word;
};

TENSORTAP_DEVICE float float_of(Word word) {
  Bits bits = {};
  bits.word = word;
  return bits.number;
}

// A number of `kMantissa` bits behind `kExponent` bits of this bias, without what the type has in place of infinities.
template <int kExponent, int kMantissa, int kBias>
TENSORTAP_DEVICE float small_float(Word stored) {
  const Word exponent = (stored >> kMantissa) & ((1U << kExponent) - 1);
  const Word mantissa = stored & ((1U << kMantissa) - 1);
  const bool is_subnormal = exponent == 0;
  const auto digits = static_cast<float>(is_subnormal ? mantissa : mantissa | (1U << kMantissa));
  const float scale = float_of((127U - kBias - kMantissa + (is_subnormal ? 1 : exponent)) << 23U);
  const float magnitude = digits * scale;
  return (stored >> (kExponent + kMantissa)) != 0 ? -magnitude : magnitude;
}

constexpr Word kNanWord = 0x7fc00000;

TENSORTAP_DEVICE float float_of_half(Half stored) {
#ifdef __CUDACC__
  float number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(stored));
  return number;
#else
  if ((stored & 0x7c00U) != 0x7c00U) return small_float<5, 10, 15>(stored);
  const Word sign = (stored & 0x8000U) << 16U;
  return float_of(sign | ((stored & 0x3ffU) != 0 ? kNanWord : 0x7f800000U));
#endif
}

// A type of elements: how they are stored, and in which numbers they are added up.
template <class Of, class In, bool kFloat>
struct Elements {
  using Stored = Of;
  using Real = In;
  static constexpr bool kIsFloat = kFloat;
  static constexpr bool kHasExactExtremes = !kFloat && sizeof(Of) == 8;  // a double may not have them
};
template <class Of, class In>
struct Integers : Elements<Of, In, false> {
  static TENSORTAP_DEVICE In value(Of stored) { return static_cast<In>(stored); }
};

struct Float32 : Elements<Word, float, true> {
  static constexpr float kSmallestNormal = 0x1p-126F;
  static TENSORTAP_DEVICE float value(Word stored) { return float_of(stored); }
  static TENSORTAP_DEVICE bool is_negative_zero(Word stored) { return stored == 0x80000000U; }
};
struct Bfloat16 : Elements<Half, float, true> {
  static constexpr float kSmallestNormal = 0x1p-126F;
  static TENSORTAP_DEVICE float value(Half stored) { return float_of(static_cast<Word>(stored) << 16U); }
  static TENSORTAP_DEVICE bool is_negative_zero(Half stored) { return stored == 0x8000U; }
};
struct Float16 : Elements<Half, float, true> {
  static constexpr float kSmallestNormal = 0x1p-14F;
  static TENSORTAP_DEVICE float value(Half stored) { return float_of_half(stored); }
  static TENSORTAP_DEVICE bool is_negative_zero(Half stored) { return stored == 0x8000U; }
};
struct Float8E4M3Fn : Elements<Byte, float, true> {
  static constexpr float kSmallestNormal = 0x1p-6F;
  static TENSORTAP_DEVICE float value(Byte stored) { return (stored & 0x7fU) == 0x7fU ? float_of(kNanWord) : small_float<4, 3, 7>(stored); }
  static TENSORTAP_DEVICE bool is_negative_zero(Byte stored) { return stored == 0x80U; }
};
struct Float8E4M3Fnuz : Elements<Byte, float, true> {
  static constexpr float kSmallestNormal = 0x1p-7F;
  static TENSORTAP_DEVICE float value(Byte stored) { return stored == 0x80U ? float_of(kNanWord) : small_float<4, 3, 8>(stored); }
  static TENSORTAP_DEVICE bool is_negative_zero(Byte /*stored*/) { return false; }
};
struct Float8E5M2 : Elements<Byte, float, true> {
  static constexpr float kSmallestNormal = 0x1p-14F;
  static TENSORTAP_DEVICE float value(Byte stored) { return float_of_half(static_cast<Half>(stored << 8U)); }
  static TENSORTAP_DEVICE bool is_negative_zero(Byte stored) { return stored == 0x80U; }
};
struct Float8E5M2Fnuz : Elements<Byte, float, true> {
  static constexpr float kSmallestNormal = 0x1p-15F;
  static TENSORTAP_DEVICE float value(Byte stored) { return stored == 0x80U ? float_of(kNanWord) : small_float<5, 2, 16>(stored); }
  static TENSORTAP_DEVICE bool is_negative_zero(Byte /*stored*/) { return false; }
};

using Uint8 = Integers<Byte, double>;
using Int8 = Integers<signed char, double>;
using Uint16 = Integers<Half, double>;
using Int16 = Integers<short, double>;
using Uint32 = Integers<Word, double>;
using Int32 = Integers<int, double>;
using Uint64 = Integers<Long, double>;
using Int64 = Integers<Signed, double>;

// 16 bytes of elements, the first ones in the low bits.
struct Group {
  Long low;
  Long high;
};

// The address is a multiple of 16.
TENSORTAP_DEVICE Group load_group(const void* from) {
#ifdef __CUDACC__
  const ulonglong2 both = *static_cast<const ulonglong2*>(from);
  return {both.x, both.y};
#else
  Group group = {};
  __builtin_memcpy(&group, from, sizeof group);
  return group;
#endif
}

// Takes the first element out.
template <class Stored>
TENSORTAP_DEVICE Stored next_of(Group& group) {
  const auto stored = static_cast<Stored>(group.low);
  if constexpr (sizeof(Stored) == 8) {
    group.low = group.high;
  } else {
    constexpr Word kBits = 8 * sizeof(Stored);
    group.low = (group.low >> kBits) | (group.high << (64 - kBits));
    group.high >>= kBits;
  }
  return stored;
}

}  // namespace tensortap::device_kernel

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_ELEMENTS_H_
