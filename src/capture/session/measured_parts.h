// Statistics of a tensor from what its device measured of its parts.

#ifndef TENSORTAP_SESSION_MEASURED_PARTS_H_
#define TENSORTAP_SESSION_MEASURED_PARTS_H_

#include <tensortap/asking.h>

#include <cstdint>
#include <span>

#include "stats/stats.h"

namespace tensortap {

// What `options.wanted` needs besides what devices always measure: bits TENSORTAP_MEASURE_*.
uint32_t extras_of(const StatsOptions& options);

// What compute_stats() gives for a whole tensor: the same counts, extremes and places; sums within the bound of docs/statistics.md.
TensorStats join_parts(std::span<const tensortap_measured> parts, DType dtype, const StatsOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_MEASURED_PARTS_H_
