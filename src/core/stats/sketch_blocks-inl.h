// Kernels of sketches by block. As many blocks as a vector has lanes are counted together: their largest magnitudes come to lie in one
// vector, and so do the limits up to which an element of a block becomes 0.

#if defined(TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#undef TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "stats/sketch_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest x with x * factor <= most, the product rounded. The quotient is at most one number away from it: its error is half a unit in
// the last place, and for all factors of kUnderflowFormats two units make the product more than half a unit larger.
template <class V>
HWY_INLINE V underflow_limit(V most, double factor) {
  using T = hn::TFromV<V>;
  const hn::DFromV<V> tag;
  const hn::RebindToSigned<hn::DFromV<V>> bits;
  const V times = hn::Set(tag, static_cast<T>(factor));
  const V quotient = hn::Div(most, times);
  const auto one = hn::Set(bits, 1);
  const V above = hn::BitCast(tag, hn::Add(hn::BitCast(bits, quotient), one));
  const V below = hn::BitCast(tag, hn::Sub(hn::BitCast(bits, quotient), one));
  const V limit = hn::IfThenElse(hn::Le(hn::Mul(quotient, times), most), quotient, below);
  return hn::IfThenElse(hn::Le(hn::Mul(above, times), most), above, limit);
}

// Counts blocks with these largest magnitudes.
HWY_INLINE void count_bins(FloatVector most, BlockTally& tally) {
  constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
  constexpr int kFirst = -127 - BlockCounts::kLowestExponent;
  alignas(HWY_MAX_BYTES) int32_t exponents[kLanes];
  alignas(HWY_MAX_BYTES) float magnitudes[kLanes];
  hn::Store(hn::ShiftRight<23>(hn::BitCast(BitsTag(), most)), BitsTag(), exponents);
  const bool is_plain = hn::AllFalse(FloatTag(), hn::Lt(most, hn::Set(FloatTag(), std::numeric_limits<float>::min())));
  if (!is_plain) hn::Store(most, FloatTag(), magnitudes);
  for (size_t i = 0; i < hn::Lanes(FloatTag()); ++i) {
    if (is_plain || exponents[i] > 0) {
      ++tally.bins[i % 4][exponents[i] + kFirst];
    } else if (magnitudes[i] == 0) {
      ++tally.zero;
    } else {
      ++tally.bins[0][block_bin(static_cast<double>(magnitudes[i]))];
    }
  }
}

// Blocks of float or double.
template <class T>
struct PlainBlocks : PlainLanes<T> {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  // The larger of neighbouring lanes, those of `low` first.
  static HWY_INLINE V joined(V low, V high) { return hn::Max(hn::ConcatEven(D(), high, low), hn::ConcatOdd(D(), high, low)); }
  static HWY_INLINE V joined_leaves(V low, V high) { return joined(low, high); }
  // Where the largest magnitude of a block of `in_vector` in a vector is, of all of them.
  static constexpr size_t place_of(size_t block, size_t /*in_vector*/) { return block; }
  static HWY_INLINE void limits(const T* most, double factor, T* found) {
    hn::StoreU(underflow_limit(hn::LoadU(D(), most), factor), D(), found);
  }
  static HWY_INLINE void bins(const T* most, BlockTally& tally) {
    if constexpr (std::is_same_v<T, float>) {
      count_bins(hn::LoadU(D(), most), tally);
    } else {
      for (size_t i = 0; i < hn::Lanes(D()); ++i) {
        if (most[i] == 0) {
          ++tally.zero;
        } else {
          ++tally.bins[i % 4][block_bin(most[i])];
        }
      }
    }
  }
};

// Rounds limits, which are not negative, down to patterns.
template <class Loader>
HWY_INLINE BitsVector pattern_below(FloatVector limit) {
  const BitsVector bits = hn::BitCast(BitsTag(), limit);
  if constexpr (std::is_same_v<Loader, BFloat16Loader>) {
    return hn::ShiftRight<16>(bits);
  } else {
    const auto normal = hn::ShiftRight<13>(hn::Sub(bits, hn::Set(BitsTag(), (127 - 15) << 23)));
    const auto subnormal = hn::ConvertTo(BitsTag(), hn::Mul(limit, hn::Set(FloatTag(), 0x1p24F)));
    return hn::IfThenElse(hn::Lt(bits, hn::Set(BitsTag(), (127 - 14) << 23)), subnormal, normal);
  }
}

// Blocks of halves. Their products with the factors are exact in float, and a limit that is rounded to float is not rounded past a half.
template <class Loader>
struct HalfBlocks : HalfLanes<Loader> {
  using Base = HalfLanes<Loader>;
  using D = typename Base::D;
  using V = typename Base::V;
  using Pairs = hn::RepartitionToWide<D>;

  // Neighbours of 16 bits become one, and stand as pairs: one of `low`, one of `high`.
  static HWY_INLINE V joined_leaves(V low, V high) {
    const V low_odd = hn::BitCast(D(), hn::ShiftRight<16>(hn::BitCast(Pairs(), low)));
    const V high_even = hn::BitCast(D(), hn::ShiftLeft<16>(hn::BitCast(Pairs(), high)));
    return hn::Max(hn::OddEven(high_even, low), hn::OddEven(high, low_odd));
  }
  static HWY_INLINE V joined(V low, V high) {
    const auto a = hn::BitCast(Pairs(), low);
    const auto b = hn::BitCast(Pairs(), high);
    return hn::Max(hn::BitCast(D(), hn::ConcatEven(Pairs(), b, a)), hn::BitCast(D(), hn::ConcatOdd(Pairs(), b, a)));
  }
  static constexpr size_t place_of(size_t block, size_t in_vector) {
    if (in_vector == 1) return block;
    const size_t vector = block / in_vector;
    return (vector / 2 * in_vector + block % in_vector) * 2 + vector % 2;
  }
  static HWY_INLINE void limits(const uint16_t* most, double factor, uint16_t* found) {
    const size_t lanes = hn::Lanes(FloatTag());
    alignas(HWY_MAX_BYTES) int32_t patterns[HWY_MAX_BYTES / sizeof(int32_t)];
    for (size_t half = 0; half < 2; ++half) {
      hn::Store(pattern_below<Loader>(underflow_limit(Loader::one(Base::bytes(most), half * lanes), factor)), BitsTag(), patterns);
      for (size_t i = 0; i < lanes; ++i) found[half * lanes + i] = static_cast<uint16_t>(patterns[i]);
    }
  }
  static HWY_INLINE void bins(const uint16_t* most, BlockTally& tally) {
    count_bins(Loader::one(Base::bytes(most), 0), tally);
    count_bins(Loader::one(Base::bytes(most), hn::Lanes(FloatTag())), tally);
  }
};

// The blocks that are counted together, of kBlock elements.
template <class L, uint32_t kBlock>
struct Batch {
  static constexpr size_t kLanes = hn::MaxLanes(typename L::D());             // and so many blocks
  static constexpr size_t kInVector = kLanes > kBlock ? kLanes / kBlock : 1;  // blocks in a vector
  static constexpr size_t kLoads = kLanes > kBlock ? 1 : kBlock / kLanes;     // vectors of a block
  static constexpr size_t kVectors = kLanes / kInVector;                      // groups of kLoads
  static_assert(kInVector <= 2);
  using Element = typename L::Element;
  using D = typename L::D;
  using V = typename L::V;

  // The largest magnitudes of the blocks in kSome groups.
  template <size_t kSome>
  static HWY_INLINE V most_of(const Element* data) {
    if constexpr (kSome == 1) {
      V most = L::magnitude(data);
      for (size_t i = 1; i < kLoads; ++i) most = hn::Max(most, L::magnitude(data + i * kLanes));
      return most;
    } else {
      const V low = most_of<kSome / 2>(data);
      const V high = most_of<kSome / 2>(data + kSome / 2 * kLoads * kLanes);
      if constexpr (kSome == 2) {
        return L::joined_leaves(low, high);
      } else {
        return L::joined(low, high);
      }
    }
  }

  // The limits of group `v`, in all lanes of its blocks.
  static HWY_INLINE V limit_of(const Element* limits, size_t v) {
    const auto limit = [&](size_t block)
                           HWY_ATTR { return hn::Set(D(), static_cast<hn::TFromD<D>>(limits[L::place_of(block, kInVector)])); };
    if constexpr (kInVector == 1) {
      return limit(v);
    } else {
      return hn::ConcatLowerLower(D(), limit(2 * v + 1), limit(2 * v));
    }
  }

  // Elements that become 0 in the formats after the first, where there are some.
  static HWY_NOINLINE void count_rare(const Element* data, const Element* most, BlockTally& tally) {
    alignas(HWY_MAX_BYTES) Element limits[kLanes];
    for (size_t f = 1; f < kUnderflowFormats.size(); ++f) {
      L::limits(most, kUnderflowFormats[f].factor, limits);
      LaneCounter<D> below;
      for (size_t v = 0; v < kVectors; ++v) {
        const V limit = limit_of(limits, v);
        for (size_t i = 0; i < kLoads; ++i) {
          const V magnitude = L::magnitude(data + (v * kLoads + i) * kLanes);
          below.add(hn::AndNot(hn::Gt(magnitude, limit), hn::Gt(magnitude, hn::Zero(D()))));
        }
      }
      below.flush();
      tally.underflow[f] += below.total();
    }
  }
};

// Counts so many batches. `rare`: the largest magnitude that may become 0 in the second format.
template <class L, uint32_t kBlock, bool kZeros>
HWY_INLINE void count_batches(const typename L::Element* data, uint64_t batches, typename L::Element rare, BlockTally& tally) {
  using B = Batch<L, kBlock>;
  using D = typename L::D;
  using V = typename L::V;
  constexpr uint64_t kBeforeFlush = 64;
  const D tag;
  const V rare_limit = hn::Set(tag, static_cast<hn::TFromD<D>>(rare));
  LaneCounter<D> above;
  LaneCounter<D> zeros;
  for (uint64_t b = 0; b < batches; ++b, data += B::kLanes * kBlock) {
    alignas(HWY_MAX_BYTES) typename L::Element most[B::kLanes];
    alignas(HWY_MAX_BYTES) typename L::Element limits[B::kLanes];
    hn::Store(B::template most_of<B::kVectors>(data), tag, reinterpret_cast<hn::TFromD<D>*>(most));
    L::limits(most, kUnderflowFormats[0].factor, limits);
    L::bins(most, tally);
    V least = L::largest();  // of the magnitudes other than 0
    for (size_t v = 0; v < B::kVectors; ++v) {
      const V limit = B::limit_of(limits, v);
      for (size_t i = 0; i < B::kLoads; ++i) {
        V magnitude = L::magnitude(data + (v * B::kLoads + i) * B::kLanes);
        above.add(hn::Gt(magnitude, limit));
        if constexpr (kZeros) {
          const auto is_zero = hn::Eq(magnitude, hn::Zero(tag));
          zeros.add(is_zero);
          magnitude = hn::IfThenElse(is_zero, L::largest(), magnitude);
        }
        least = hn::Min(least, magnitude);
      }
    }
    if (!hn::AllTrue(tag, hn::Gt(least, rare_limit))) B::count_rare(data, most, tally);
    if (b % kBeforeFlush == kBeforeFlush - 1) {
      above.flush();
      zeros.flush();
    }
  }
  above.flush();
  zeros.flush();
  const uint64_t nonzero = batches * B::kLanes * kBlock - zeros.total();
  tally.nonzero += nonzero;
  tally.underflow[0] += nonzero - above.total();
}

// The largest magnitude that becomes 0 in the second format beside `absmax`.
template <class L>
HWY_INLINE typename L::Element rare_limit_of(double absmax) {
  using Element = typename L::Element;
  const double limit = absmax / kUnderflowFormats[1].factor;
  if constexpr (std::is_floating_point_v<Element>) {
    return static_cast<Element>(limit * (1 + 0x1p-20));
  } else {
    // The largest pattern whose number is not larger.
    uint16_t below = 0;
    for (uint16_t bit = 0x4000; bit != 0; bit >>= 1) {
      if (L::number(static_cast<uint16_t>(below | bit)) <= limit) below = static_cast<uint16_t>(below | bit);
    }
    return below;
  }
}

template <class L, uint32_t kBlock>
void blocks_of(const typename L::Element* data, uint64_t blocks, bool zeros, double absmax, BlockTally& tally) {
  using Element = typename L::Element;
  using B = Batch<L, kBlock>;
  constexpr size_t kElements = B::kLanes * kBlock;
  const Element rare = rare_limit_of<L>(absmax);
  const uint64_t batches = blocks / B::kLanes;
  if (zeros) {
    count_batches<L, kBlock, true>(data, batches, rare, tally);
  } else {
    count_batches<L, kBlock, false>(data, batches, rare, tally);
  }
  const uint64_t rest = blocks % B::kLanes;
  if (rest == 0) return;
  alignas(HWY_MAX_BYTES) Element padded[kElements];
  std::memcpy(padded, data + batches * kElements, rest * kBlock * sizeof(Element));
  std::fill(padded + rest * kBlock, padded + kElements, Element{0});
  count_batches<L, kBlock, true>(padded, 1, rare, tally);
  tally.zero -= B::kLanes - rest;
}

template <class L>
void sketch_blocks(const typename L::Element* data, uint64_t blocks, uint32_t block, bool zeros, double absmax, BlockTally& tally) {
  if (block == 16) {
    blocks_of<L, 16>(data, blocks, zeros, absmax, tally);
  } else if (block == 32) {
    blocks_of<L, 32>(data, blocks, zeros, absmax, tally);
  } else {
    blocks_of<L, 128>(data, blocks, zeros, absmax, tally);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
