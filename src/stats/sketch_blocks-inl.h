// Kernels of sketches in lanes of float or double.

#if defined(TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#undef TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#else
#define TENSORTAP_STATS_SKETCH_BLOCKS_INL_H_
#endif

#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "stats/float_blocks-inl.h"
#include "stats/sketch_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of columns. Its zeros are counted in lanes of its own width: -1 is added for each.
template <class T>
struct ColumnLanes {
  using D = hn::ScalableTag<T>;
  using I = hn::RebindToSigned<D>;
  hn::Vec<D> absmax;
  hn::Vec<D> squares;
  hn::Vec<I> zeros;

  HWY_INLINE ColumnLanes(const T* absmax_at, const T* squares_at) {
    absmax = hn::LoadU(D(), absmax_at);
    squares = hn::LoadU(D(), squares_at);
    zeros = hn::Zero(I());
  }
  HWY_INLINE void add(hn::Vec<D> value) {
    absmax = hn::Max(absmax, hn::Abs(value));
    squares = hn::MulAdd(value, value, squares);
    zeros = hn::Add(zeros, hn::BitCast(I(), hn::VecFromMask(D(), hn::Eq(value, hn::Zero(D())))));
  }
  HWY_INLINE void store(T* absmax_at, T* squares_at, uint32_t* zeros_at) const {
    hn::StoreU(absmax, D(), absmax_at);
    hn::StoreU(squares, D(), squares_at);
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      const hn::RebindToUnsigned<D> words;
      hn::StoreU(hn::Sub(hn::LoadU(words, zeros_at), hn::BitCast(words, zeros)), words, zeros_at);
    } else {
      int64_t lanes[HWY_MAX_BYTES / sizeof(int64_t)];
      hn::StoreU(zeros, I(), lanes);
      for (size_t i = 0; i < hn::Lanes(D()); ++i) zeros_at[i] -= static_cast<uint32_t>(lanes[i]);
    }
  }
};

template <class T>
HWY_INLINE void narrow_columns(const T* data, uint64_t rows, uint64_t stride, uint64_t width, const ColumnSums<T>& sums) {
  constexpr size_t kMostLanes = HWY_MAX_BYTES / sizeof(T);
  T absmax[kMostLanes] = {};
  T squares[kMostLanes] = {};
  uint32_t zeros[kMostLanes] = {};
  std::memcpy(absmax, sums.absmax, width * sizeof(T));
  std::memcpy(squares, sums.squares, width * sizeof(T));
  std::memcpy(zeros, sums.zeros, width * sizeof(uint32_t));
  T values[kMostLanes] = {};
  ColumnLanes<T> lanes(absmax, squares);
  for (uint64_t r = 0; r < rows; ++r) {
    std::memcpy(values, data + r * stride, width * sizeof(T));
    lanes.add(hn::LoadU(hn::ScalableTag<T>(), values));
  }
  lanes.store(absmax, squares, zeros);
  std::memcpy(sums.absmax, absmax, width * sizeof(T));
  std::memcpy(sums.squares, squares, width * sizeof(T));
  std::memcpy(sums.zeros, zeros, width * sizeof(uint32_t));
}

template <class T>
void sketch_columns(const T* data, uint64_t rows, uint64_t stride, uint64_t width, const ColumnSums<T>& sums) {
  const hn::ScalableTag<T> tag;
  const size_t lanes = hn::Lanes(tag);
  uint64_t c = 0;
  for (; c + 2 * lanes <= width; c += 2 * lanes) {
    ColumnLanes<T> a(sums.absmax + c, sums.squares + c);
    ColumnLanes<T> b(sums.absmax + c + lanes, sums.squares + c + lanes);
    const T* from = data + c;
    for (uint64_t r = 0; r < rows; ++r, from += stride) {
      a.add(hn::LoadU(tag, from));
      b.add(hn::LoadU(tag, from + lanes));
    }
    a.store(sums.absmax + c, sums.squares + c, sums.zeros + c);
    b.store(sums.absmax + c + lanes, sums.squares + c + lanes, sums.zeros + c + lanes);
  }
  for (; c < width; c += lanes) {
    const uint64_t some = HWY_MIN(lanes, width - c);
    narrow_columns<T>(data + c, rows, stride, some, {sums.absmax + c, sums.squares + c, sums.zeros + c});
  }
}

// Sums of a run in four chains; those of floats go over to double after kFloatAdditions.
template <class T>
struct RunLanes {
  using D = hn::ScalableTag<T>;
  using I = hn::RebindToSigned<D>;
  hn::Vec<D> absmax;
  hn::Vec<D> squares_a, squares_b, squares_c, squares_d;
  hn::Vec<I> zeros;
  WideVector total;

  HWY_INLINE RunLanes() {
    absmax = squares_a = squares_b = squares_c = squares_d = hn::Zero(D());
    zeros = hn::Zero(I());
    total = hn::Zero(WideTag());
  }
  static HWY_INLINE hn::Vec<I> ones_of_zeros(hn::Vec<D> value) {
    return hn::BitCast(I(), hn::VecFromMask(D(), hn::Eq(value, hn::Zero(D()))));
  }
  HWY_INLINE void add(hn::Vec<D> value) {
    absmax = hn::Max(absmax, hn::Abs(value));
    squares_a = hn::MulAdd(value, value, squares_a);
    zeros = hn::Add(zeros, ones_of_zeros(value));
  }
  HWY_INLINE void add_group(hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> d) {
    absmax = hn::Max(absmax, hn::Max(hn::Max(hn::Abs(a), hn::Abs(b)), hn::Max(hn::Abs(c), hn::Abs(d))));
    squares_a = hn::MulAdd(a, a, squares_a);
    squares_b = hn::MulAdd(b, b, squares_b);
    squares_c = hn::MulAdd(c, c, squares_c);
    squares_d = hn::MulAdd(d, d, squares_d);
    zeros = hn::Add(zeros, hn::Add(hn::Add(ones_of_zeros(a), ones_of_zeros(b)), hn::Add(ones_of_zeros(c), ones_of_zeros(d))));
  }
  HWY_INLINE void flush() {
    const hn::Vec<D> squares = hn::Add(hn::Add(squares_a, squares_b), hn::Add(squares_c, squares_d));
    if constexpr (std::is_same_v<T, float>) {
      total = widen_and_add(squares, total);
    } else {
      total = hn::Add(total, squares);
    }
    squares_a = squares_b = squares_c = squares_d = hn::Zero(D());
  }
};

template <class T>
void sketch_run(const T* data, uint64_t count, RunSums& sums) {
  using Lanes = RunLanes<T>;
  const typename Lanes::D tag;
  const size_t lanes = hn::Lanes(tag);
  Lanes totals;
  uint64_t i = 0;
  const uint64_t grouped = count / (4 * lanes) * (4 * lanes);
  while (i < grouped) {
    const uint64_t end = HWY_MIN(grouped, i + kFloatAdditions * 4 * lanes);
    for (; i < end; i += 4 * lanes) {
      totals.add_group(hn::LoadU(tag, data + i), hn::LoadU(tag, data + i + lanes), hn::LoadU(tag, data + i + 2 * lanes),
                       hn::LoadU(tag, data + i + 3 * lanes));
    }
    totals.flush();
  }
  for (; i + lanes <= count; i += lanes) totals.add(hn::LoadU(tag, data + i));
  uint64_t padding = 0;
  if (i < count) {
    T last[HWY_MAX_BYTES / sizeof(T)] = {};
    std::memcpy(last, data + i, (count - i) * sizeof(T));
    padding = lanes - (count - i);
    totals.add(hn::LoadU(tag, last));
  }
  totals.flush();
  sums.absmax = static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, totals.absmax)));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.total));
  const typename Lanes::I words;
  sums.zeros = static_cast<uint64_t>(-int64_t{hn::GetLane(hn::SumOfLanes(words, totals.zeros))}) - padding;
}

// Elements that become 0 in the formats after the first, of a block that has some.
template <class T>
HWY_NOINLINE void count_rare_underflow(const T* data, uint32_t block, T absmax, BlockCounts& counts) {
  for (uint32_t i = 0; i < block; ++i) {
    const T magnitude = data[i] < 0 ? -data[i] : data[i];
    if (magnitude == 0) continue;
    for (size_t f = 1; f < kUnderflowFormats.size(); ++f) {
      counts.underflow[f] += magnitude * static_cast<T>(kUnderflowFormats[f].factor) <= absmax ? 1 : 0;
    }
  }
}

// block_bin(), without the way over double.
HWY_INLINE int bin_of_lane(float magnitude) {
  uint32_t bits;
  std::memcpy(&bits, &magnitude, sizeof(bits));
  const int exponent = static_cast<int>(bits >> 23);
  return exponent > 0 ? exponent - 127 - BlockCounts::kLowestExponent : block_bin(static_cast<double>(magnitude));
}
HWY_INLINE int bin_of_lane(double magnitude) { return block_bin(magnitude); }

template <class T, uint32_t kBlock>
void sketch_blocks_of(const T* data, uint64_t blocks, BlockCounts& counts) {
  using D = hn::ScalableTag<T>;
  using I = hn::RebindToSigned<D>;
  const D tag;
  const size_t lanes = hn::Lanes(tag);
  const hn::Vec<D> factor = hn::Set(tag, static_cast<T>(kUnderflowFormats[0].factor));
  const hn::Vec<D> rare_factor = hn::Set(tag, static_cast<T>(kUnderflowFormats[1].factor));
  const hn::Vec<D> largest = hn::Set(tag, std::numeric_limits<T>::max());
  hn::Vec<I> zeros = hn::Zero(I());
  hn::Vec<I> small = hn::Zero(I());  // zeros among them
  for (uint64_t b = 0; b < blocks; ++b, data += kBlock) {
    hn::Vec<D> most = hn::Abs(hn::LoadU(tag, data));
    for (size_t i = lanes; i < kBlock; i += lanes) most = hn::Max(most, hn::Abs(hn::LoadU(tag, data + i)));
    most = hn::MaxOfLanes(tag, most);
    hn::Vec<D> least = largest;  // of the magnitudes other than 0
    for (size_t i = 0; i < kBlock; i += lanes) {
      const hn::Vec<D> magnitude = hn::Abs(hn::LoadU(tag, data + i));
      const auto is_zero = hn::Eq(magnitude, hn::Zero(tag));
      zeros = hn::Add(zeros, hn::BitCast(I(), hn::VecFromMask(tag, is_zero)));
      small = hn::Add(small, hn::BitCast(I(), hn::VecFromMask(tag, hn::Le(hn::Mul(magnitude, factor), most))));
      least = hn::Min(least, hn::IfThenElse(is_zero, largest, magnitude));
    }
    const T absmax = hn::GetLane(most);
    if (absmax == 0) {
      ++counts.zero;
      continue;
    }
    ++counts.bins[bin_of_lane(absmax)];
    if (!hn::AllFalse(tag, hn::Le(hn::Mul(least, rare_factor), most))) count_rare_underflow(data, kBlock, absmax, counts);
  }
  const auto sum = [](hn::Vec<I> lanes_of) HWY_ATTR { return static_cast<uint64_t>(-int64_t{hn::GetLane(hn::SumOfLanes(I(), lanes_of))}); };
  const uint64_t zero = sum(zeros);
  counts.nonzero += blocks * kBlock - zero;
  counts.underflow[0] += sum(small) - zero;
}

template <class T>
void sketch_blocks(const T* data, uint64_t blocks, uint32_t block, BlockCounts& counts) {
  if (block == 16) {
    sketch_blocks_of<T, 16>(data, blocks, counts);
  } else if (block == 32) {
    sketch_blocks_of<T, 32>(data, blocks, counts);
  } else {
    sketch_blocks_of<T, 128>(data, blocks, counts);
  }
}

template <class Loader>
void decode_halves(const void* data, uint64_t count, float* values) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t lanes = hn::Lanes(FloatTag());
  uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Loader::one(bytes, i), FloatTag(), values + i);
  for (; i < count; ++i) values[i] = Loader::scalar(bytes, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
