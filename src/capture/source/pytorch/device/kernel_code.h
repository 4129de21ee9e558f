// Statistics of a tensor in one pass over its elements. The compiler of the device's driver compiles this file, with the two that it
// includes and without any other; TENSORTAP_KERNEL_TYPE is then the type of the elements. The host compiles the same code, for what both
// sides share and for tests.
//
// A block of threads measures one part of the tensor, and writes its result where the host reads it. Which elements a part has depends on
// the number of elements alone, and parts are added up in one order, so that equal bytes give equal bits.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_CODE_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_CODE_H_

#include "source/pytorch/device/kernel_elements.h"
#include "source/pytorch/device/kernel_sums.h"

namespace tensortap::device_kernel {

constexpr Word kThreads = 256;
constexpr int kMostRank = 8;
constexpr Long kMark = 0x7461706d65617375ULL;

constexpr Word kMagnitudes = 1;  // the sum of the magnitudes

// One tensor.
struct Work {
  const void* data;  // the first element
  struct Part* parts;
  Long count;          // of elements, at least 1
  Long part_elements;  // a multiple of 16; the last part may have less
  Word rank;           // 0: the elements are contiguous
  Word wanted;         // kMagnitudes
  Signed dims[kMostRank];
  Signed strides[kMostRank];  // in elements
};

// What a block found. Sums are of the distances from `pivot`, in ranges of magnitude: sums[1] was scaled by Limits::kHugeScale, squares[1]
// by the square of kSmallScale, squares[2] by that of kLargeScale, magnitudes[1] by kHugeScale.
struct Part {
  Long mark;  // kMark
  Long elements;
  Long nan;
  Long pos_inf;
  Long neg_inf;
  Long zero;
  Long neg_zero;
  Long negative;
  Long subnormal;
  Signed first_nonfinite;  // from the first element of the part, -1 = none
  Signed min_integer;      // of 64 bits without a sign: the same bits
  Signed max_integer;
  double min;
  double max;
  double pivot;
  double sums[2];
  double squares[3];
  double magnitudes[2];
};

template <class Type>
TENSORTAP_DEVICE void count_kinds(Found<typename Type::Real>& found, typename Type::Stored stored, typename Type::Real x) {
  found.zero += x == 0 ? 1 : 0;
  found.negative += x < 0 ? 1 : 0;
  if constexpr (Type::kIsFloat) {
    found.neg_zero += Type::is_negative_zero(stored) ? 1 : 0;
    found.subnormal += x != 0 && magnitude_of(x) < Type::kSmallestNormal ? 1 : 0;
  }
}

// Any element.
template <class Type>
TENSORTAP_DEVICE void see(Found<typename Type::Real>& found, typename Type::Stored stored, Word place, typename Type::Real pivot) {
  using Real = typename Type::Real;
  const Real x = Type::value(stored);
  if (Type::kIsFloat && !(magnitude_of(x) <= Limits<Real>::kMost)) {
    found.nan += x != x ? 1 : 0;
    found.pos_inf += x > 0 ? 1 : 0;
    found.neg_inf += x < 0 ? 1 : 0;
    found.first = place < found.first ? place : found.first;
    return;
  }
  count_kinds<Type>(found, stored, x);
  add_finite(found, x, pivot);
}

template <class Stored>
TENSORTAP_DEVICE Stored element_at(const Work& work, Long index) {
  if (work.rank == 0) return static_cast<const Stored*>(work.data)[index];
  Signed place = 0;
  Long rest = index;
  TENSORTAP_ONE_BY_ONE
  for (Word i = work.rank; i-- > 0;) {
    const auto dim = static_cast<Long>(work.dims[i]);
    place += static_cast<Signed>(rest % dim) * work.strides[i];
    rest /= dim;
  }
  return static_cast<const Stored*>(work.data)[place];
}

// The extremes of integers, exactly.
template <class Stored>
struct Extremes {
  Stored min;
  Stored max;
  bool has_any;
};

template <class Stored>
TENSORTAP_DEVICE void see_extremes(Extremes<Stored>& extremes, Stored x) {
  extremes.min = !extremes.has_any || x < extremes.min ? x : extremes.min;
  extremes.max = !extremes.has_any || x > extremes.max ? x : extremes.max;
  extremes.has_any = true;
}

struct NoExtremes {};

template <bool kHas, class Stored>
struct ExtremesOf {
  using Type = NoExtremes;
};
template <class Stored>
struct ExtremesOf<true, Stored> {
  using Type = Extremes<Stored>;
};

template <class Type>
struct Thread {
  Found<typename Type::Real> found;
  typename ExtremesOf<Type::kHasExactExtremes, typename Type::Stored>::Type extremes;
};

template <class Type>
TENSORTAP_DEVICE void see_element(Thread<Type>& thread, typename Type::Stored stored, Word place, typename Type::Real pivot) {
  see<Type>(thread.found, stored, place, pivot);
  if constexpr (Type::kHasExactExtremes) see_extremes(thread.extremes, stored);
}

// Whether the squares of all distances in a group can be added up as they are. False if one of the elements is not finite.
template <class Type>
TENSORTAP_DEVICE bool is_plain(Group group, typename Type::Real pivot) {
  using Real = typename Type::Real;
  Real most = 0;
  bool is_finite = true;
  TENSORTAP_UNROLL
  for (Word i = 0; i < 16 / sizeof(typename Type::Stored); ++i) {
    const Real x = Type::value(next_of<typename Type::Stored>(group));
    const Real distance = magnitude_of(x - pivot);
    is_finite = is_finite && distance < Limits<Real>::kLarge && magnitude_of(x) < Limits<Real>::kHuge;
    most = distance > most ? distance : most;
  }
  return is_finite && (most >= Limits<Real>::kSmall || most == 0);
}

// Such a group: its few elements are added up in one number, whose rounding is far below the bounds of docs/statistics.md.
template <class Type>
TENSORTAP_DEVICE void see_plain(Thread<Type>& thread, Group group, typename Type::Real pivot, bool adds_magnitudes) {
  using Real = typename Type::Real;
  using Stored = typename Type::Stored;
  Found<Real>& found = thread.found;
  Real sum = 0;
  Real square = 0;
  TENSORTAP_UNROLL
  for (Word i = 0; i < 16 / sizeof(Stored); ++i) {
    const auto stored = next_of<Stored>(group);
    const Real x = Type::value(stored);
    const Real distance = x - pivot;
    sum += distance;
    square = fused(distance, distance, square);
    if (adds_magnitudes) add(found.magnitudes[0], magnitude_of(x));
    found.min = x < found.min ? x : found.min;
    found.max = x > found.max ? x : found.max;
    count_kinds<Type>(found, stored, x);
    if constexpr (Type::kHasExactExtremes) see_extremes(thread.extremes, stored);
  }
  add(found.sums[0], sum);
  add(found.squares[0], square);
}

template <class Type>
TENSORTAP_DEVICE void merge(Thread<Type>& thread, const Thread<Type>& other) {
  merge(thread.found, other.found);
  if constexpr (Type::kHasExactExtremes) {
    if (!other.extremes.has_any) return;
    see_extremes(thread.extremes, other.extremes.min);
    see_extremes(thread.extremes, other.extremes.max);
  }
}

// The middle one of three elements, so that one that lies far from the others takes no accuracy from the sums.
template <class Type>
TENSORTAP_DEVICE typename Type::Real pivot_of(const Work& work, Long begin, Long end) {
  using Real = typename Type::Real;
  Real numbers[3] = {};
  const Long places[3] = {begin, begin + (end - begin) / 2, end - 1};
  TENSORTAP_ONE_BY_ONE
  for (int i = 0; i < 3; ++i) {
    const Real x = Type::value(element_at<typename Type::Stored>(work, places[i]));
    numbers[i] = magnitude_of(x) <= Limits<Real>::kMost ? x : Real{0};  // also for NaN
  }
  const Real least = numbers[0] < numbers[1] ? numbers[0] : numbers[1];
  const Real most = numbers[0] < numbers[1] ? numbers[1] : numbers[0];
  return numbers[2] < least ? least : numbers[2] > most ? most : numbers[2];
}

// What one thread of a block sees of elements [begin, end).
template <class Type>
TENSORTAP_DEVICE void look(const Work& work, Long begin, Long end, Word number, typename Type::Real pivot, Thread<Type>& thread) {
  using Stored = typename Type::Stored;
  constexpr Word kGroup = 16 / sizeof(Stored);
  thread.found = nothing<typename Type::Real>();
  thread.extremes = {};
  const auto count = static_cast<Word>(end - begin);
  Word first = 0;
  if (work.rank == 0 && reinterpret_cast<Long>(work.data) % 16 == 0) {
    const Stored* const elements = static_cast<const Stored*>(work.data) + begin;
    for (Word at = number * kGroup; at + kGroup <= count; at += kThreads * kGroup) {
      Group group = load_group(elements + at);
      if (is_plain<Type>(group, pivot)) {
        see_plain(thread, group, pivot, (work.wanted & kMagnitudes) != 0);
      } else {
        TENSORTAP_ONE_BY_ONE
        for (Word i = 0; i < kGroup; ++i) see_element(thread, next_of<Stored>(group), at + i, pivot);
      }
    }
    first = count / kGroup * kGroup;
  }
  TENSORTAP_ONE_BY_ONE
  for (Word i = first + number; i < count; i += kThreads) see_element(thread, element_at<Stored>(work, begin + i), i, pivot);
}

template <class Real>
TENSORTAP_DEVICE double sum_of(const Pair<Real>& pair) {
  return static_cast<double>(pair.high) + static_cast<double>(pair.low);
}

template <class Type>
TENSORTAP_DEVICE void write(const Thread<Type>& thread, Long elements, typename Type::Real pivot, Part& part) {
  const auto& found = thread.found;
  part.elements = elements;
  part.nan = found.nan;
  part.pos_inf = found.pos_inf;
  part.neg_inf = found.neg_inf;
  part.zero = found.zero;
  part.neg_zero = found.neg_zero;
  part.negative = found.negative;
  part.subnormal = found.subnormal;
  part.first_nonfinite = found.first == ~Word{0} ? -1 : static_cast<Signed>(found.first);
  if constexpr (Type::kHasExactExtremes) {
    part.min_integer = static_cast<Signed>(thread.extremes.min);
    part.max_integer = static_cast<Signed>(thread.extremes.max);
  } else if constexpr (!Type::kIsFloat) {
    part.min_integer = static_cast<Signed>(found.min);
    part.max_integer = static_cast<Signed>(found.max);
  }
  part.min = static_cast<double>(found.min);
  part.max = static_cast<double>(found.max);
  part.pivot = static_cast<double>(pivot);
  for (int i = 0; i < 2; ++i) part.sums[i] = sum_of(found.sums[i]);
  for (int i = 0; i < 3; ++i) part.squares[i] = sum_of(found.squares[i]);
  for (int i = 0; i < 2; ++i) part.magnitudes[i] = sum_of(found.magnitudes[i]);
}

// The order in which threads of a block are summed up: thread i takes over what thread i + half has, for half = kThreads / 2, ..., 1.
#ifdef __CUDACC__

template <class Type>
TENSORTAP_DEVICE void measure(const Work& work) {
  __shared__ Thread<Type> threads[kThreads];
  const Long begin = blockIdx.x * work.part_elements;
  const Long end = begin + work.part_elements < work.count ? begin + work.part_elements : work.count;
  const typename Type::Real pivot = pivot_of<Type>(work, begin, end);
  Thread<Type> own;
  look<Type>(work, begin, end, threadIdx.x, pivot, own);
  threads[threadIdx.x] = own;
  __syncthreads();
  TENSORTAP_ONE_BY_ONE
  for (Word half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) merge(threads[threadIdx.x], threads[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  Part& part = work.parts[blockIdx.x];
  write(threads[0], end - begin, pivot, part);
  __threadfence_system();
  *const_cast<volatile Long*>(&part.mark) = kMark;
}

extern "C" __global__ void __launch_bounds__(256) tensortap_statistics(const Work work) { measure<TENSORTAP_KERNEL_TYPE>(work); }

#else

// What a block does, on one thread of the host. `threads`: kThreads of them.
template <class Type>
void measure_on_host(const Work& work, Long block, Thread<Type>* threads) {
  const Long begin = block * work.part_elements;
  const Long end = begin + work.part_elements < work.count ? begin + work.part_elements : work.count;
  const typename Type::Real pivot = pivot_of<Type>(work, begin, end);
  for (Word number = 0; number < kThreads; ++number) look<Type>(work, begin, end, number, pivot, threads[number]);
  for (Word half = kThreads / 2; half > 0; half /= 2) {
    for (Word number = 0; number < half; ++number) merge(threads[number], threads[number + half]);
  }
  write(threads[0], end - begin, pivot, work.parts[block]);
  work.parts[block].mark = kMark;
}

#endif

}  // namespace tensortap::device_kernel

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_KERNEL_CODE_H_
