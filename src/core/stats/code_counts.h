// Statistics of types with at most 256 values, the 8-bit floats and packed types, by counting how often each value occurs: exact, and one
// increment a byte.

#ifndef TENSORTAP_STATS_CODE_COUNTS_H_
#define TENSORTAP_STATS_CODE_COUNTS_H_

#include <array>
#include <cstdint>

#include "stats/stats_state.h"

namespace tensortap {

// Counts of the bit patterns of one dtype. Thread-compatible.
class CodeCounts {
 public:
  explicit CodeCounts(DType dtype);

  // Whether the dtype's statistics are computed this way.
  static bool serves(DType dtype);

  // Adds `count` packed elements, the first of which begins a byte.
  void add(const void* data, uint64_t count);

  // The state that the counted elements make; first_nonfinite is left alone. Call once.
  [[nodiscard]] StatsState state();

 private:
  void fold();

  DType dtype_;
  uint32_t bits_;
  uint64_t waiting_ = 0;                            // bytes counted since the last fold()
  std::array<std::array<uint32_t, 256>, 4> bytes_;  // four, so that equal neighbours do not wait for each other
  std::array<uint64_t, 256> codes_;                 // filled in with the first elements
  bool has_any_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_STATS_CODE_COUNTS_H_
