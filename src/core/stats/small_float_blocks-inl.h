// Kernels of the 8-bit floats that have a sign: exact, in integer lanes, two looks at each block. The first look finds extremes and counts
// and says whether there is anything special: NaN, Inf. Such a block is left to the counting of patterns (stats/code_counts.h). The second
// look sums up.
//
// A pattern is a sign, three high bits h and four low bits l. Twice its value is T[l] * P^h, in units of the smallest number; T[l] has at
// most six bits. A few powers fit into products of 16 bits: a group. The next group is 256 times as large. Only the groups between the
// smallest and the largest magnitude of a block are summed.

#if defined(TENSORTAP_STATS_SMALL_FLOAT_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SMALL_FLOAT_BLOCKS_INL_H_
#undef TENSORTAP_STATS_SMALL_FLOAT_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_SMALL_FLOAT_BLOCKS_INL_H_
#endif

#include <array>

#include "stats/small_integer_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

__extension__ using Exact = __int128;

using CodeTag = hn::ScalableTag<uint8_t>;
using CodeVector = hn::Vec<CodeTag>;
using LongTag = hn::ScalableTag<uint64_t>;

// `kSpecialFrom`: the least magnitude that is not a number. `kFractionBits`: twice the values are multiples of 2^-kFractionBits.
template <size_t kMantissa, uint32_t kSpecialFrom, bool kHasMinusZero, uint32_t kFractionBits>
struct SmallFloat {
  static constexpr uint32_t kSpecial = kSpecialFrom;
  static constexpr bool kMinusZero = kHasMinusZero;  // else this pattern is NaN
  static constexpr uint32_t kMantissas = 1U << kMantissa;
  static constexpr size_t kGroups = size_t{1} << (4 - kMantissa);  // also the exponents that a step of h is
  static constexpr size_t kStepsOfGroup = 8 / kGroups;
  using Table = std::array<uint8_t, 16>;

  static constexpr double unit() { return 1.0 / (1U << kFractionBits); }

  static constexpr uint32_t factor_of(uint32_t low) { return (kMantissas + low % kMantissas) << (low / kMantissas); }

  static constexpr Table factors() {
    Table table{};
    for (uint32_t low = 0; low < 16; ++low) table[low] = static_cast<uint8_t>(factor_of(low));
    return table;
  }

  // To be subtracted from the factor where h is 0: subnormal numbers have no leading one.
  static constexpr Table excesses() {
    Table table{};
    for (uint32_t low = 0; low < kMantissas; ++low) table[low] = static_cast<uint8_t>(kMantissas - low);
    return table;
  }

  // P^h by sign and h, within a group; 0 outside it.
  static constexpr std::array<Table, kGroups> powers() {
    std::array<Table, kGroups> tables{};
    for (size_t h = 0; h < 8; ++h) {
      const auto power = static_cast<uint8_t>(1U << (kGroups * (h % kStepsOfGroup)));
      tables[h / kStepsOfGroup][h] = power;
      tables[h / kStepsOfGroup][h + 8] = static_cast<uint8_t>(0U - power);
    }
    return tables;
  }

  static constexpr Exact twice(uint32_t code) {
    const uint32_t magnitude = code & 0x7FU;
    const uint32_t exponent = magnitude / kMantissas;
    const Exact number = exponent == 0 ? Exact{2} * magnitude : static_cast<Exact>(kMantissas + magnitude % kMantissas) << exponent;
    return code < 0x80U ? number : -number;
  }
};

using Float8E4M3FN = SmallFloat<3, 0x7F, true, 10>;
using Float8E4M3FNUZ = SmallFloat<3, 0x80, false, 11>;
using Float8E5M2 = SmallFloat<2, 0x7C, true, 17>;
using Float8E5M2FNUZ = SmallFloat<2, 0x80, false, 18>;

// What the first look finds. Patterns order as those of half-precision floats do (stats/half_blocks-inl.h).
struct CodeLook {
  int32_t smallest = 127;
  int32_t largest = -128;
  uint32_t largest_unsigned = 0;
  uint32_t least = 255;  // smallest magnitude but 0, less 1; perhaps less than that
  uint64_t sign = 0;
  uint64_t plus_zero = 0;
  uint64_t minus_zero = 0;

  HWY_INLINE void add(uint32_t code) {
    const auto number = static_cast<int8_t>(code);
    smallest = HWY_MIN(smallest, number);
    largest = HWY_MAX(largest, number);
    largest_unsigned = HWY_MAX(largest_unsigned, code);
    least = HWY_MIN(least, ((code & 0x7FU) - 1) & 0xFFU);
    sign += code >> 7U;
    plus_zero += code == 0 ? 1 : 0;
    minus_zero += code == 0x80U ? 1 : 0;
  }

  [[nodiscard]] HWY_INLINE uint32_t largest_magnitude() const {
    return HWY_MAX(largest < 0 ? 0U : static_cast<uint32_t>(largest), largest_unsigned & 0x7FU);
  }
};

// Extremes of many patterns, as CodeLook has them; `least` only with kLeast.
template <bool kLeast>
struct CodeLanes {
  hn::Vec<ByteTag> smallest, largest;
  CodeVector largest_unsigned, least;

  HWY_INLINE CodeLanes() {
    smallest = hn::Set(ByteTag(), 127);
    largest = hn::Set(ByteTag(), -128);
    largest_unsigned = hn::Zero(CodeTag());
    least = hn::Set(CodeTag(), 255);
  }

  HWY_INLINE void add(CodeVector code, uint64_t& sign, uint64_t& zero) {
    const auto number = hn::BitCast(ByteTag(), code);
    smallest = hn::Min(smallest, number);
    largest = hn::Max(largest, number);
    largest_unsigned = hn::Max(largest_unsigned, code);
    if constexpr (kLeast) least = hn::Min(least, hn::Sub(hn::And(code, hn::Set(CodeTag(), 0x7F)), hn::Set(CodeTag(), 1)));
    sign += hn::CountTrue(ByteTag(), hn::Lt(number, hn::Zero(ByteTag())));
    zero += hn::CountTrue(ByteTag(), hn::Eq(number, hn::Zero(ByteTag())));
  }
};

template <bool kLeast>
HWY_NOINLINE void look_at_codes(const uint8_t* data, size_t count, CodeLook& look) {
  const CodeTag tag;
  const size_t lanes = hn::Lanes(tag);
  CodeLanes<kLeast> first;
  CodeLanes<kLeast> second;
  uint64_t sign = 0;
  uint64_t zero = 0;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    hwy::Prefetch(data + i + 2048);
    first.add(hn::LoadU(tag, data + i), sign, zero);
    second.add(hn::LoadU(tag, data + i + lanes), sign, zero);
  }
  if (i + lanes <= count) {
    first.add(hn::LoadU(tag, data + i), sign, zero);
    i += lanes;
  }
  if (i > 0) {
    look.smallest = smallest_lane(ByteTag(), hn::Min(first.smallest, second.smallest));
    look.largest = largest_lane(ByteTag(), hn::Max(first.largest, second.largest));
    look.largest_unsigned = largest_lane(tag, hn::Max(first.largest_unsigned, second.largest_unsigned));
    look.least = kLeast ? smallest_lane(tag, hn::Min(first.least, second.least)) : 0;
    if (look.smallest == -128) look.minus_zero = count_lowest_bytes(data, i);
  }
  look.sign = sign;
  look.plus_zero = zero;
  for (; i < count; ++i) look.add(data[i]);
}

// Products of unsigned factors and signed powers, of the bytes at even and at odd places.
HWY_INLINE void multiply(CodeVector factor, CodeVector power, ShortVector& even, ShortVector& odd) {
  const auto low = hn::BitCast(CodeTag(), hn::Set(hn::ScalableTag<uint16_t>(), 0x00FF));
  const CodeVector factor_even = hn::And(factor, low);
  const CodeVector factor_odd = hn::AndNot(low, factor);
#if HWY_TARGET == HWY_AVX3
  even = ShortVector{_mm512_maddubs_epi16(factor_even.raw, power.raw)};
  odd = ShortVector{_mm512_maddubs_epi16(factor_odd.raw, power.raw)};
#elif HWY_TARGET == HWY_AVX2
  even = ShortVector{_mm256_maddubs_epi16(factor_even.raw, power.raw)};
  odd = ShortVector{_mm256_maddubs_epi16(factor_odd.raw, power.raw)};
#elif HWY_TARGET == HWY_SSE4
  even = ShortVector{_mm_maddubs_epi16(factor_even.raw, power.raw)};
  odd = ShortVector{_mm_maddubs_epi16(factor_odd.raw, power.raw)};
#else
  const ShortTag tag;
  const hn::ScalableTag<uint16_t> unsigned_tag;
  const ShortVector power_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(tag, power)));
  const ShortVector power_odd = hn::ShiftRight<8>(hn::BitCast(tag, power));
  even = hn::Mul(hn::BitCast(tag, factor_even), power_even);
  odd = hn::Mul(hn::BitCast(tag, hn::ShiftRight<8>(hn::BitCast(unsigned_tag, factor_odd))), power_odd);
#endif
}

// Sums of one group. A product has at most 11 bits and a sign, so that `squares` hold those of kVectors vectors and `few` of kFewVectors.
struct GroupSums {
  static constexpr size_t kVectors = 128;
  static constexpr size_t kFewVectors = 8;
  ShortVector few;
  WordVector sum, sum_odd;
  WordVector squares, squares_odd;
  hn::Vec<LongTag> all_squares;

  HWY_INLINE GroupSums() {
    few = hn::Zero(ShortTag());
    sum = sum_odd = squares = squares_odd = hn::Zero(WordTag());
    all_squares = hn::Zero(LongTag());
  }

  HWY_INLINE void add(CodeVector factor, CodeVector power) {
    ShortVector even, odd;
    multiply(factor, power, even, odd);
    squares = hn::ReorderWidenMulAccumulate(WordTag(), even, even, squares, squares_odd);
    squares = hn::ReorderWidenMulAccumulate(WordTag(), odd, odd, squares, squares_odd);
    few = hn::Add(few, hn::Add(even, odd));
  }

  HWY_INLINE void flush_few() {
    sum = hn::ReorderWidenMulAccumulate(WordTag(), few, hn::Set(ShortTag(), 1), sum, sum_odd);
    few = hn::Zero(ShortTag());
  }

  HWY_INLINE void flush() {
    const auto words = hn::BitCast(LongTag(), hn::Add(squares, squares_odd));
    const auto low = hn::And(words, hn::Set(LongTag(), 0xFFFFFFFFU));
    all_squares = hn::Add(all_squares, hn::Add(low, hn::ShiftRight<32>(words)));
    squares = squares_odd = hn::Zero(WordTag());
  }

  HWY_INLINE void finish(size_t group, Exact& total, Exact& total_squares) const {
    // A block is too short for more than 32 bits.
    const int32_t found = hn::GetLane(hn::SumOfLanes(WordTag(), hn::Add(sum, sum_odd)));
    const uint64_t found_squares = hn::GetLane(hn::SumOfLanes(LongTag(), all_squares));
    total += static_cast<Exact>(found) * (Exact{1} << (8 * group));
    total_squares += static_cast<Exact>(found_squares) << (16 * group);
  }
};

// Adds twice the numbers and their squares, of `first` and, with kPair, of the next group; `count` is whole vectors.
template <class Format, bool kPair>
HWY_NOINLINE void sum_groups(const uint8_t* data, size_t count, size_t first, Exact& sum, Exact& squares) {
  static constexpr typename Format::Table kFactors = Format::factors();
  static constexpr typename Format::Table kExcesses = Format::excesses();
  static constexpr std::array<typename Format::Table, Format::kGroups> kPowers = Format::powers();
  const CodeTag tag;
  const hn::ScalableTag<uint16_t> words;
  const size_t lanes = hn::Lanes(tag);
  const CodeVector factors = hn::LoadDup128(tag, kFactors.data());
  const CodeVector excesses = hn::LoadDup128(tag, kExcesses.data());
  const CodeVector powers = hn::LoadDup128(tag, kPowers[first].data());
  const CodeVector next_powers = hn::LoadDup128(tag, kPowers[kPair ? first + 1 : first].data());
  const CodeVector low_bits = hn::Set(tag, 0x0F);
  const CodeVector magnitude_bits = hn::Set(tag, 0x7F);
  const CodeVector from_one = hn::Set(tag, 0x70);
  GroupSums group;
  GroupSums next;
  const auto add_vectors = [&](size_t begin, size_t end) HWY_ATTR {
    for (size_t i = begin; i < end; i += lanes) {
      const CodeVector code = hn::LoadU(tag, data + i);
      // The top bit is set where h is not 0: then the look-up gives 0.
      const CodeVector excess = hn::TableLookupBytesOr0(excesses, hn::Add(hn::And(code, magnitude_bits), from_one));
      const CodeVector factor = hn::Sub(hn::TableLookupBytes(factors, hn::And(code, low_bits)), excess);
      const CodeVector high = hn::And(hn::BitCast(tag, hn::ShiftRight<4>(hn::BitCast(words, code))), low_bits);
      group.add(factor, hn::TableLookupBytes(powers, high));
      if constexpr (kPair) next.add(factor, hn::TableLookupBytes(next_powers, high));
    }
    group.flush_few();
    if constexpr (kPair) next.flush_few();
  };
  for (size_t i = 0; i < count;) {
    const size_t end = HWY_MIN(count, i + GroupSums::kVectors * lanes);
    for (; i < end; i += GroupSums::kFewVectors * lanes) add_vectors(i, HWY_MIN(end, i + GroupSums::kFewVectors * lanes));
    group.flush();
    if constexpr (kPair) next.flush();
  }
  group.finish(first, sum, squares);
  if constexpr (kPair) next.finish(first + 1, sum, squares);
}

template <class Format>
HWY_INLINE void sum_codes(const uint8_t* data, size_t count, const CodeLook& look, Exact& sum, Exact& squares) {
  if (look.largest_magnitude() == 0) return;
  const size_t whole = count / hn::Lanes(CodeTag()) * hn::Lanes(CodeTag());
  size_t group = (look.least + 1) / 16 / Format::kStepsOfGroup;
  const size_t end = look.largest_magnitude() / 16 / Format::kStepsOfGroup + 1;
  if (whole > 0) {
    for (; group + 2 <= end; group += 2) sum_groups<Format, true>(data, whole, group, sum, squares);
    if (group < end) sum_groups<Format, false>(data, whole, group, sum, squares);
  }
  for (size_t i = whole; i < count; ++i) {
    const Exact number = Format::twice(data[i]);
    sum += number;
    squares += number * number;
  }
}

template <class Format>
HWY_INLINE double number_of(uint32_t code) {
  return static_cast<double>(Format::twice(code)) * Format::unit();
}

template <class Format>
bool small_float_block(const void* data, uint64_t count, BlockSums& sums) {
  const auto* codes = static_cast<const uint8_t*>(data);
  CodeLook look;
  // Of two groups the lower one is nearly always there.
  look_at_codes<(Format::kGroups > 2)>(codes, count, look);
  if (look.largest_magnitude() >= Format::kSpecial || (!Format::kMinusZero && look.smallest == -128)) return false;
  Exact sum = 0;
  Exact squares = 0;
  sum_codes<Format>(codes, count, look, sum, squares);
  const double left = number_of<Format>(static_cast<uint32_t>(look.smallest) & 0xFFU);
  sums.max = look.largest >= 0 ? number_of<Format>(static_cast<uint32_t>(look.largest)) : left;
  sums.min = look.largest_unsigned >= 0x80 ? number_of<Format>(look.largest_unsigned) : left;
  sums.finite = count;
  sums.zero = look.plus_zero + look.minus_zero;
  sums.neg_zero = look.minus_zero;
  sums.negative = look.sign - look.minus_zero;
  sums.sum = static_cast<double>(sum) * Format::unit();
  sums.squares = static_cast<double>(squares) * (Format::unit() * Format::unit());
  // count <= 2^14, squares <= 2^80 and |sum| <= 2^47: nothing overflows, and the difference is exact.
  const Exact scaled = static_cast<Exact>(count) * squares - sum * sum;
  sums.deviations = count > 0 ? static_cast<double>(scaled) * (Format::unit() * Format::unit()) / static_cast<double>(count) : 0;
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
