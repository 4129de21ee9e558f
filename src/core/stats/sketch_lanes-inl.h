// How kernels of sketches read elements. Halves are not converted: magnitudes use the 16-bit patterns, twice as many in a vector, and
// squares use two vectors of float.

#if defined(TENSORTAP_STATS_SKETCH_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORTAP_STATS_SKETCH_LANES_INL_H_
#undef TENSORTAP_STATS_SKETCH_LANES_INL_H_
#else
#define TENSORTAP_STATS_SKETCH_LANES_INL_H_
#endif

#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "stats/float_blocks-inl.h"
#include "stats/sketch_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tensortap {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// float and double.
template <class T>
struct PlainLanes {
  using Element = T;
  using Square = T;
  using D = hn::ScalableTag<T>;  // of magnitudes
  using V = hn::Vec<D>;
  using SquareVector = hn::Vec<hn::ScalableTag<T>>;
  static constexpr size_t kSquareVectors = 1;  // of one vector of magnitudes
  static constexpr size_t kGroup = 4;          // vectors of magnitudes in a group

  static HWY_INLINE double number(T element) { return static_cast<double>(element); }
  static HWY_INLINE V load(const T* at) { return hn::LoadU(D(), at); }
  static HWY_INLINE V magnitude(const T* at) { return hn::Abs(load(at)); }
  static HWY_INLINE V largest() { return hn::Set(D(), std::numeric_limits<T>::max()); }
  // The vector to be squared: the magnitudes themselves.
  static HWY_INLINE void squared(const T* at, SquareVector& value, SquareVector& /*none*/) { value = magnitude(at); }
  static HWY_INLINE void group(const T* at, SquareVector& a, SquareVector& b, SquareVector& c, SquareVector& d) {
    const size_t lanes = hn::Lanes(D());
    a = magnitude(at);
    b = magnitude(at + lanes);
    c = magnitude(at + 2 * lanes);
    d = magnitude(at + 3 * lanes);
  }
};

template <class Loader>
struct HalfLanes {
  using Element = uint16_t;
  using Square = float;
  using D = hn::ScalableTag<int16_t>;
  using V = hn::Vec<D>;
  using SquareVector = FloatVector;
  static constexpr size_t kSquareVectors = 2;
  static constexpr size_t kGroup = 2;

  static HWY_INLINE const uint8_t* bytes(const uint16_t* at) { return reinterpret_cast<const uint8_t*>(at); }
  static HWY_INLINE double number(uint16_t pattern) { return static_cast<double>(Loader::value(pattern)); }
  static HWY_INLINE V load(const uint16_t* at) { return hn::LoadU(D(), reinterpret_cast<const int16_t*>(at)); }
  static HWY_INLINE V magnitude(const uint16_t* at) { return hn::And(load(at), hn::Set(D(), 0x7FFF)); }
  static HWY_INLINE V largest() { return hn::Set(D(), 0x7FFF); }
  static HWY_INLINE void squared(const uint16_t* at, SquareVector& low, SquareVector& high) {
    low = Loader::one(bytes(at), 0);
    high = Loader::one(bytes(at), hn::Lanes(FloatTag()));
  }
  static HWY_INLINE void group(const uint16_t* at, SquareVector& a, SquareVector& b, SquareVector& c, SquareVector& d) {
    Loader::group(bytes(at), 0, a, b, c, d);
  }
};

// Counts lanes of masks, each in a lane of the same width.
template <class D>
class LaneCounter {
 public:
  HWY_INLINE LaneCounter() { lanes_ = hn::Zero(I()); }
  HWY_INLINE void add(hn::Mask<D> mask) {
#if HWY_TARGET == HWY_AVX3
    // One instruction. Counting bits of a mask takes two, and GCC 12 reads masks of 16 bits that it has spilled as 64 bits.
    lanes_ = hn::IfThenElse(hn::RebindMask(I(), mask), hn::Sub(lanes_, hn::Set(I(), 1)), lanes_);
#else
    lanes_ = hn::Add(lanes_, hn::BitCast(I(), hn::VecFromMask(D(), mask)));
#endif
  }
  // Before any lane has counted 32767.
  HWY_INLINE void flush() {
    alignas(HWY_MAX_BYTES) hn::TFromD<I> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<I>)];
    hn::Store(lanes_, I(), lanes);
    for (size_t i = 0; i < hn::Lanes(I()); ++i) total_ += static_cast<uint64_t>(-int64_t{lanes[i]});
    lanes_ = hn::Zero(I());
  }
  // After flush().
  [[nodiscard]] HWY_INLINE uint64_t total() const { return total_; }

 private:
  using I = hn::RebindToSigned<D>;
  hn::Vec<I> lanes_;  // -1 for each
  uint64_t total_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace tensortap
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
