// Kernels of sketches by channel.

#if defined(TENSORTAP_STATS_SKETCH_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SKETCH_SUMS_INL_H_
#undef TENSORTAP_STATS_SKETCH_SUMS_INL_H_
#else
#define TENSORTAP_STATS_SKETCH_SUMS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "stats/sketch_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds the zeros of some columns. A lane has -1 for each zero of its column.
template <class V>
HWY_INLINE void subtract_lanes(V lanes, uint32_t* zeros) {
  using T = hn::TFromV<V>;
  const hn::DFromV<V> tag;
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    const hn::RebindToUnsigned<hn::DFromV<V>> words;
    hn::StoreU(hn::Sub(hn::LoadU(words, zeros), hn::BitCast(words, lanes)), words, zeros);
  } else {
    T values[HWY_MAX_BYTES / sizeof(T)];
    hn::StoreU(lanes, tag, values);
    for (size_t i = 0; i < hn::Lanes(tag); ++i) zeros[i] -= static_cast<uint32_t>(values[i]);
  }
}

// One vector of columns. Its zeros are counted in lanes of the same width, which kMostSketchRows cannot fill.
template <class L, bool kZeros>
struct ColumnLanes {
  using D = typename L::D;
  using I = hn::RebindToSigned<D>;
  using Squares = hn::ScalableTag<typename L::Square>;
  typename L::V absmax;
  typename L::SquareVector low, high;
  hn::Vec<I> zeros;

  HWY_INLINE explicit ColumnLanes(const ColumnSums<typename L::Element>& sums) {
    absmax = L::load(sums.absmax);
    low = high = hn::LoadU(Squares(), sums.squares);
    if constexpr (L::kSquareVectors == 2) high = hn::LoadU(Squares(), sums.squares + hn::Lanes(Squares()));
    zeros = hn::Zero(I());
  }
  HWY_INLINE void add(const typename L::Element* at) {
    const typename L::V magnitude = L::magnitude(at);
    absmax = hn::Max(absmax, magnitude);
    typename L::SquareVector a;
    typename L::SquareVector b;
    L::squared(at, a, b);
    low = hn::MulAdd(a, a, low);
    if constexpr (L::kSquareVectors == 2) high = hn::MulAdd(b, b, high);
    if constexpr (kZeros) zeros = hn::Add(zeros, hn::BitCast(I(), hn::VecFromMask(D(), hn::Eq(magnitude, hn::Zero(D())))));
  }
  HWY_INLINE void store(const ColumnSums<typename L::Element>& sums) const {
    hn::StoreU(absmax, D(), reinterpret_cast<hn::TFromD<D>*>(sums.absmax));
    hn::StoreU(low, Squares(), sums.squares);
    if constexpr (L::kSquareVectors == 2) hn::StoreU(high, Squares(), sums.squares + hn::Lanes(Squares()));
    if constexpr (kZeros) subtract_lanes(zeros, sums.zeros);
  }
};

template <class Element>
HWY_INLINE ColumnSums<Element> from_column(const ColumnSums<Element>& sums, uint64_t column) {
  return {sums.absmax + column, sums.squares + column, sums.zeros + column};
}

// Fewer columns than a vector has.
template <class L, bool kZeros>
HWY_INLINE void narrow_columns(const typename L::Element* data, uint64_t rows, uint64_t stride, uint64_t width,
                               const ColumnSums<typename L::Element>& sums) {
  using Element = typename L::Element;
  constexpr size_t kMostLanes = HWY_MAX_BYTES / sizeof(Element);
  Element absmax[kMostLanes] = {};
  typename L::Square squares[kMostLanes] = {};
  uint32_t zeros[kMostLanes] = {};
  std::memcpy(absmax, sums.absmax, width * sizeof(*absmax));
  std::memcpy(squares, sums.squares, width * sizeof(*squares));
  std::memcpy(zeros, sums.zeros, width * sizeof(*zeros));
  Element values[kMostLanes] = {};
  const ColumnSums<Element> of_copies = {absmax, squares, zeros};
  ColumnLanes<L, kZeros> lanes(of_copies);
  for (uint64_t r = 0; r < rows; ++r) {
    std::memcpy(values, data + r * stride, width * sizeof(Element));
    lanes.add(values);
  }
  lanes.store(of_copies);
  std::memcpy(sums.absmax, absmax, width * sizeof(*absmax));
  std::memcpy(sums.squares, squares, width * sizeof(*squares));
  std::memcpy(sums.zeros, zeros, width * sizeof(*zeros));
}

template <class L, bool kZeros>
HWY_INLINE void columns_of(const typename L::Element* data, uint64_t rows, uint64_t stride, uint64_t width,
                           const ColumnSums<typename L::Element>& sums) {
  const size_t lanes = hn::Lanes(typename L::D());
  uint64_t c = 0;
  for (; c + 2 * lanes <= width; c += 2 * lanes) {
    ColumnLanes<L, kZeros> a(from_column(sums, c));
    ColumnLanes<L, kZeros> b(from_column(sums, c + lanes));
    const typename L::Element* from = data + c;
    for (uint64_t r = 0; r < rows; ++r, from += stride) {
      a.add(from);
      b.add(from + lanes);
    }
    a.store(from_column(sums, c));
    b.store(from_column(sums, c + lanes));
  }
  for (; c < width; c += lanes) {
    const uint64_t some = HWY_MIN(lanes, width - c);
    narrow_columns<L, kZeros>(data + c, rows, stride, some, from_column(sums, c));
  }
}

template <class L>
void sketch_columns(const typename L::Element* data, uint64_t rows, uint64_t stride, uint64_t width, bool zeros,
                    const ColumnSums<typename L::Element>& sums) {
  if (zeros) {
    columns_of<L, true>(data, rows, stride, width, sums);
  } else {
    columns_of<L, false>(data, rows, stride, width, sums);
  }
}

// Sums of a run in four chains; those of floats go over to double after kFloatAdditions.
template <class L, bool kZeros>
struct RunLanes {
  using D = typename L::D;
  using Squares = hn::ScalableTag<typename L::Square>;
  typename L::V absmax;
  typename L::SquareVector squares_a, squares_b, squares_c, squares_d;
  WideVector total;
  LaneCounter<D> zeros, more_zeros;  // in turn: neither waits for its last addition

  HWY_INLINE RunLanes() {
    absmax = hn::Zero(D());
    squares_a = squares_b = squares_c = squares_d = hn::Zero(Squares());
    total = hn::Zero(WideTag());
  }
  static HWY_INLINE typename L::V taken(const typename L::Element* at, LaneCounter<D>& counter) {
    const typename L::V magnitude = L::magnitude(at);
    if constexpr (kZeros) counter.add(hn::Eq(magnitude, hn::Zero(D())));
    return magnitude;
  }
  HWY_INLINE void add(const typename L::Element* at) {
    absmax = hn::Max(absmax, taken(at, zeros));
    typename L::SquareVector a;
    typename L::SquareVector b;
    L::squared(at, a, b);
    squares_a = hn::MulAdd(a, a, squares_a);
    if constexpr (L::kSquareVectors == 2) squares_b = hn::MulAdd(b, b, squares_b);
  }
  HWY_INLINE void add_group(const typename L::Element* at) {
    const size_t lanes = hn::Lanes(D());
    typename L::V most = hn::Max(taken(at, zeros), taken(at + lanes, more_zeros));
    if constexpr (L::kGroup == 4) most = hn::Max(most, hn::Max(taken(at + 2 * lanes, zeros), taken(at + 3 * lanes, more_zeros)));
    absmax = hn::Max(absmax, most);
    typename L::SquareVector a;
    typename L::SquareVector b;
    typename L::SquareVector c;
    typename L::SquareVector d;
    L::group(at, a, b, c, d);
    squares_a = hn::MulAdd(a, a, squares_a);
    squares_b = hn::MulAdd(b, b, squares_b);
    squares_c = hn::MulAdd(c, c, squares_c);
    squares_d = hn::MulAdd(d, d, squares_d);
  }
  HWY_INLINE void flush() {
    const auto squares = hn::Add(hn::Add(squares_a, squares_b), hn::Add(squares_c, squares_d));
    if constexpr (std::is_same_v<typename L::Square, float>) {
      total = widen_and_add(squares, total);
    } else {
      total = hn::Add(total, squares);
    }
    squares_a = squares_b = squares_c = squares_d = hn::Zero(Squares());
    zeros.flush();
    more_zeros.flush();
  }
};

template <class L, bool kZeros>
HWY_INLINE void run_of(const typename L::Element* data, uint64_t count, RunSums& sums) {
  using Element = typename L::Element;
  const typename L::D tag;
  const size_t lanes = hn::Lanes(tag);
  const size_t group = L::kGroup * lanes;
  RunLanes<L, kZeros> totals;
  uint64_t i = 0;
  const uint64_t grouped = count / group * group;
  while (i < grouped) {
    const uint64_t end = HWY_MIN(grouped, i + kFloatAdditions * group);
    for (; i < end; i += group) totals.add_group(data + i);
    totals.flush();
  }
  for (; i + lanes <= count; i += lanes) totals.add(data + i);
  uint64_t padding = 0;
  if (i < count) {
    Element last[HWY_MAX_BYTES / sizeof(Element)] = {};
    std::memcpy(last, data + i, (count - i) * sizeof(Element));
    padding = kZeros ? lanes - (count - i) : 0;
    totals.add(last);
  }
  totals.flush();
  sums.absmax = L::number(static_cast<Element>(hn::GetLane(hn::MaxOfLanes(tag, totals.absmax))));
  sums.squares = hn::GetLane(hn::SumOfLanes(WideTag(), totals.total));
  sums.zeros = totals.zeros.total() + totals.more_zeros.total() - padding;
}

template <class L>
void sketch_run(const typename L::Element* data, uint64_t count, bool zeros, RunSums& sums) {
  if (zeros) {
    run_of<L, true>(data, count, sums);
  } else {
    run_of<L, false>(data, count, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
