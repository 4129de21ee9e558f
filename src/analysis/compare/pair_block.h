// Pairs of elements as numbers, in pieces that stay in the nearest cache, and what the kernels find in them.

#ifndef TENSORTAP_COMPARE_PAIR_BLOCK_H_
#define TENSORTAP_COMPARE_PAIR_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace tensortap {

// Elements that are looked at together: those of a block whose bytes are equal need no differences.
inline constexpr uint64_t kPairBlock = 4096;
// Elements that are decoded at a time; blocks consist of whole pieces, and pieces of types narrower than a byte of whole bytes.
inline constexpr uint64_t kPairPiece = 512;

struct PairPiece {
  alignas(64) double a[kPairPiece];
  alignas(64) double b[kPairPiece];
  alignas(64) double difference[kPairPiece];  // a - b: exact for integers, rounded once for floating types
  alignas(64) uint32_t ulp[kPairPiece];       // at most 2^32 - 1; 0 where a side is not finite
  uint64_t max_ulp = 0;
};

struct PairRequest {
  double absolute = 0;  // the tolerance; at least kLeastTolerance
  double relative = 0;
  double tiny = 0;  // relative errors are those of at least this
};

// Keeps 0 / 0 within the tolerance without a look at each element.
inline constexpr double kLeastTolerance = 0x1p-980;

// Of pairs that are finite on both sides. Not finite itself when one of them is not, or when squares leave the range of double.
struct PairSums {
  double squares_a = 0;
  double squares_b = 0;
  double products = 0;
  double squares = 0;    // of the differences
  double sum = 0;        // of the differences
  double distances = 0;  // of their absolute values
  double max_abs = 0;
  double max_rel = 0;
  uint64_t within_1e_3 = 0;
  uint64_t within_5e_3 = 0;
  uint64_t differing = 0;  // left alone by kernels of types that a float holds: there it is what has another ULP bin than 0
  uint64_t zero_a_only = 0;
  uint64_t zero_b_only = 0;
  uint64_t max_ulp = 0;  // left alone where the pairs come decoded, since their piece says it
};

// Place of a pair in both histograms of Difference: tolerance bin * kUlpBins + ULP bin.
using PairBin = uint16_t;

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIR_BLOCK_H_
