// What capture costs: captured against plain runs in one process, interleaved in the order plain, captured, captured, plain.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_OVERHEAD_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_OVERHEAD_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"

namespace tensortap::onnxruntime {

struct Overhead {
  double ratio = 0;  // median over the quartets
  double low = 0;    // quartiles
  double high = 0;
  double plain_ms = 0;  // median of a run
  uint64_t quartets = 0;
};

struct OverheadOptions {
  int64_t time_ns = 4'000'000'000;
  int64_t burst_ns = 10'000'000;
  uint64_t max_quartets = 200;
  // Asked between quartets: measure on?
  std::function<bool()> may_go_on;
};

// Both functions run the model once. Errors: theirs.
Result<Overhead> measure_overhead(const std::function<Status()>& plain, const std::function<Status()>& captured,
                                  const OverheadOptions& options);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_OVERHEAD_H_
