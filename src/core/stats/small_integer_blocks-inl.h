// Kernels of bool and of 8 and 16 bit integers: exact in integer lanes. A block is short enough for 32-bit sums.

#if defined(TENSORTAP_STATS_SMALL_INTEGER_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SMALL_INTEGER_BLOCKS_INL_H_
#undef TENSORTAP_STATS_SMALL_INTEGER_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_SMALL_INTEGER_BLOCKS_INL_H_
#endif

#include "stats/wide_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {

// Exact sums of a block of small integers.
struct ExactSums {
  int64_t sum = 0;
  int64_t squares = 0;
  uint64_t zero = 0;
  uint64_t negative = 0;

  template <class T>
  HWY_INLINE void add_scalar(T value) {
    sum += value;
    squares += int64_t{value} * value;
    zero += value == 0 ? 1 : 0;
    negative += value < 0 ? 1 : 0;
  }

  HWY_INLINE void finish(uint64_t count, BlockSums& sums) const {
    sums.finite = count;
    sums.sum = static_cast<double>(sum);
    sums.squares = static_cast<double>(squares);
    sums.zero = zero;
    sums.negative = negative;
    // count <= 2^14, squares <= 2^46 and |sum| <= 2^30: nothing overflows, and the difference is exact.
    const int64_t scaled = static_cast<int64_t>(count) * squares - sum * sum;
    sums.deviations = count > 0 ? static_cast<double>(scaled) / static_cast<double>(count) : 0;
  }
};

template <class D>
HWY_NOINLINE int64_t sum_words(D d, hn::Vec<D> words) {
  alignas(64) int32_t lanes[HWY_MAX_BYTES / sizeof(int32_t)];
  hn::Store(words, d, lanes);
  int64_t total = 0;
  for (size_t i = 0; i < hn::Lanes(d); ++i) total += lanes[i];
  return total;
}

// Highway has no reductions of bytes. Not inlined, since the compiler would keep the accumulator in the memory that it is stored to.
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE T smallest_lane(D d, hn::Vec<D> value) {
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(value, d, lanes);
  T smallest = lanes[0];
  for (size_t i = 1; i < hn::Lanes(d); ++i) smallest = HWY_MIN(smallest, lanes[i]);
  return smallest;
}

template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE T largest_lane(D d, hn::Vec<D> value) {
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(value, d, lanes);
  T largest = lanes[0];
  for (size_t i = 1; i < hn::Lanes(d); ++i) largest = HWY_MAX(largest, lanes[i]);
  return largest;
}

using ByteTag = hn::ScalableTag<int8_t>;
using WordTag = hn::ScalableTag<int32_t>;
using WordVector = hn::Vec<WordTag>;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4

// The square of -128 has the wrong sign; byte_block corrects the sum.
inline constexpr int64_t kErrorOfLowest = -2 * 128 * 128;

// Adds x^2 of the bytes in pairs: |x| taken as an unsigned byte times |x| taken as a signed one.
HWY_INLINE void add_byte_squares(hn::Vec<ByteTag> value, WordVector& squares, WordVector& squares_odd) {
  const auto magnitude = hn::Abs(value);
#if HWY_TARGET == HWY_AVX3
  const ShortVector pairs{_mm512_maddubs_epi16(magnitude.raw, magnitude.raw)};
#elif HWY_TARGET == HWY_AVX2
  const ShortVector pairs{_mm256_maddubs_epi16(magnitude.raw, magnitude.raw)};
#else
  const ShortVector pairs{_mm_maddubs_epi16(magnitude.raw, magnitude.raw)};
#endif
  squares = hn::ReorderWidenMulAccumulate(WordTag(), pairs, hn::Set(ShortTag(), 1), squares, squares_odd);
}

#else

inline constexpr int64_t kErrorOfLowest = 0;

HWY_INLINE void add_byte_squares(hn::Vec<ByteTag> value, WordVector& squares, WordVector& squares_odd) {
  const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(ShortTag(), value)));
  const auto odd = hn::ShiftRight<8>(hn::BitCast(ShortTag(), value));
  squares = hn::ReorderWidenMulAccumulate(WordTag(), even, even, squares, squares_odd);
  squares = hn::ReorderWidenMulAccumulate(WordTag(), odd, odd, squares, squares_odd);
}

#endif

// `count` is a whole number of vectors.
inline HWY_NOINLINE uint64_t count_lowest_bytes(const uint8_t* data, size_t count) {
  const ByteTag tag;
  const auto lowest = hn::Set(tag, std::numeric_limits<int8_t>::min());
  uint64_t found = 0;
  for (size_t i = 0; i < count; i += hn::Lanes(tag)) {
    found += hn::CountTrue(tag, hn::Eq(hn::LoadU(tag, reinterpret_cast<const int8_t*>(data + i)), lowest));
  }
  return found;
}

template <class T>
HWY_INLINE T one_byte(const uint8_t* data, size_t i, bool is_bool) {
  const T value = load_scalar<T>(data, i);
  return is_bool && value != 0 ? T{1} : value;
}

// Lanes of a block of int8, uint8 or (as uint8) bool. Sums are kept of the bytes as unsigned numbers, squares of the bytes as signed
// numbers (x - 128 for uint8).
template <class T>
struct ByteLanes {
  static constexpr bool kIsSigned = std::is_signed_v<T>;
  using D = hn::ScalableTag<T>;
  using U = hn::ScalableTag<uint8_t>;
  using W = hn::ScalableTag<uint64_t>;
  hn::Vec<W> raw_sum;    // of the bits as they are
  hn::Vec<W> moved_sum;  // of x + 128, for int8
  WordVector squares;
  WordVector squares_odd;
  uint64_t zero = 0;

  HWY_INLINE ByteLanes() {
    raw_sum = moved_sum = hn::Zero(W());
    squares = squares_odd = hn::Zero(WordTag());
  }

  template <bool kCounts>
  HWY_INLINE void add(hn::Vec<D> value) {
    if constexpr (kCounts || !kIsSigned) zero += hn::CountTrue(D(), hn::Eq(value, hn::Zero(D())));
    const auto raw = hn::BitCast(U(), value);
    const auto moved = hn::Xor(raw, hn::Set(U(), 0x80));
    if constexpr (kCounts || !kIsSigned) raw_sum = hn::Add(raw_sum, hn::SumsOf8(raw));
    if constexpr (kIsSigned) moved_sum = hn::Add(moved_sum, hn::SumsOf8(moved));
    add_byte_squares(hn::BitCast(ByteTag(), kIsSigned ? raw : moved), squares, squares_odd);
  }

  // `lowest`: how many are -128 (of int8; those of x - 128 are the zeros of uint8).
  HWY_INLINE ExactSums finish(size_t count, uint64_t lowest) const {
    const auto added = static_cast<int64_t>(count);
    const auto raw_total = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(W(), raw_sum)));
    ExactSums exact;
    exact.zero = zero;
    exact.squares = sum_words(WordTag(), squares) + sum_words(WordTag(), squares_odd);
    if constexpr (kIsSigned) {
      exact.sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(W(), moved_sum))) - 128 * added;
      exact.squares -= kErrorOfLowest * static_cast<int64_t>(lowest);
      // As an unsigned number each negative one is 256 larger.
      exact.negative = static_cast<uint64_t>(raw_total - exact.sum) / 256;
    } else {
      exact.sum = raw_total;
      exact.squares -= kErrorOfLowest * static_cast<int64_t>(zero);
      // (x - 128)^2 + 256 (x - 128) + 128^2 = x^2
      exact.squares += 256 * (exact.sum - 128 * added) + 16384 * added;
    }
    return exact;
  }
};

template <class T, bool kIsBool>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> load_bytes(const uint8_t* data) {
  const hn::ScalableTag<T> d;
  const auto value = hn::LoadU(d, reinterpret_cast<const T*>(data));
  if constexpr (kIsBool) return hn::Min(value, hn::Set(d, T{1}));
  return value;
}

template <class T, bool kIsBool, bool kCounts>
HWY_INLINE void byte_block_of(const uint8_t* bytes, uint64_t count, BlockSums& sums) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto min = hn::Set(d, std::numeric_limits<T>::max());
  auto max = hn::Set(d, std::numeric_limits<T>::lowest());
  ByteLanes<T> totals;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    hwy::Prefetch(bytes + i + 2048);
    const auto a = load_bytes<T, kIsBool>(bytes + i);
    const auto b = load_bytes<T, kIsBool>(bytes + i + lanes);
    min = hn::Min(min, hn::Min(a, b));
    max = hn::Max(max, hn::Max(a, b));
    totals.template add<kCounts>(a);
    totals.template add<kCounts>(b);
  }
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::lowest();
  ExactSums exact;
  if (i > 0) {
    low = smallest_lane(d, min);
    high = largest_lane(d, max);
    exact = totals.finish(i, std::is_signed_v<T> && low == -128 ? count_lowest_bytes(bytes, i) : 0);
    if constexpr (std::is_signed_v<T> && !kCounts) exact.negative = 0;
  }
  for (; i < count; ++i) {
    const T value = one_byte<T>(bytes, i, kIsBool);
    low = value < low ? value : low;
    high = value > high ? value : high;
    exact.add_scalar(value);
  }
  set_extremes(low, high, sums);
  exact.finish(count, sums);
}

// bool is uint8 whose bytes above 1 count as 1.
template <class T, bool kIsBool>
void byte_block(const void* data, uint64_t count, const BlockRequest& request, BlockSums& sums) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (request.counts) {
    byte_block_of<T, kIsBool, true>(bytes, count, sums);
  } else {
    byte_block_of<T, kIsBool, false>(bytes, count, sums);
  }
}

// Adds the lanes of `words`, which are unsigned, to the 64-bit lanes of `total`.
template <class V, class W>
HWY_INLINE W add_unsigned_words(V words, W total) {
  const hn::ScalableTag<uint64_t> wide;
  const auto both = hn::BitCast(wide, words);
  return hn::Add(total, hn::Add(hn::And(both, hn::Set(wide, 0xFFFFFFFFU)), hn::ShiftRight<32>(both)));
}

// int16, and uint16 by way of x - 32768, which is an int16.
template <class T>
void short_block(const void* data, uint64_t count, const BlockRequest&, BlockSums& sums) {
  constexpr bool kIsUnsigned = std::is_unsigned_v<T>;
  const auto* bytes = static_cast<const uint8_t*>(data);
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<int16_t> half;
  const hn::ScalableTag<int32_t> word;
  const hn::ScalableTag<uint64_t> wide;
  const size_t lanes = hn::Lanes(d);
  const auto ones = hn::Set(half, 1);
  auto min = hn::Set(d, std::numeric_limits<T>::max());
  auto max = hn::Set(d, std::numeric_limits<T>::lowest());
  auto sum = hn::Zero(word);
  auto sum_odd = hn::Zero(word);
  auto squares = hn::Zero(wide);
  ExactSums exact;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hwy::Prefetch(bytes + i * 2 + 2048);
    const auto value = hn::LoadU(d, reinterpret_cast<const T*>(bytes + i * 2));
    min = hn::Min(min, value);
    max = hn::Max(max, value);
    exact.zero += hn::CountTrue(d, hn::Eq(value, hn::Zero(d)));
    if constexpr (!kIsUnsigned) exact.negative += hn::CountTrue(d, hn::Lt(value, hn::Zero(d)));
    auto moved = hn::BitCast(half, value);
    if constexpr (kIsUnsigned) moved = hn::Xor(moved, hn::Set(half, std::numeric_limits<int16_t>::min()));
    sum = hn::ReorderWidenMulAccumulate(word, moved, ones, sum, sum_odd);
    auto odd = hn::Zero(word);
    const auto even = hn::ReorderWidenMulAccumulate(word, moved, moved, hn::Zero(word), odd);
    // Two squares of -32768 make 2^31, which is right as an unsigned number.
    squares = add_unsigned_words(even, squares);
    squares = add_unsigned_words(odd, squares);
  }
  T low = smallest_lane(d, min);
  T high = largest_lane(d, max);
  exact.sum = sum_words(word, sum) + sum_words(word, sum_odd);
  exact.squares = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(wide, squares)));
  if constexpr (kIsUnsigned) {
    const auto added = static_cast<int64_t>(i);
    exact.squares += 65536 * exact.sum + added * (int64_t{1} << 30);
    exact.sum += 32768 * added;
  }
  for (; i < count; ++i) {
    const T value = load_scalar<T>(bytes, i);
    low = value < low ? value : low;
    high = value > high ? value : high;
    exact.add_scalar(value);
  }
  set_extremes(low, high, sums);
  exact.finish(count, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
