// Slices of time that nest, as a track of a trace needs them.

#ifndef TENSORTAP_CONVERT_NESTED_SLICES_H_
#define TENSORTAP_CONVERT_NESTED_SLICES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tensortap {

struct TimeSlice {
  int64_t begin = 0;
  int64_t end = 0;  // not before `begin`
  uint32_t item = 0;
};

struct SliceEdge {
  int64_t time = 0;
  uint32_t item = 0;
  bool begins = false;
};

// The begin and the end of every slice, in the order of time, such that they nest. A slice that begins inside of another and ends after it
// begins where that one ends; one for which this does not help ends early.
std::vector<SliceEdge> nested_edges(std::span<const TimeSlice> slices);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_NESTED_SLICES_H_
