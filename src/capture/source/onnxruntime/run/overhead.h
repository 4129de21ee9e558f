// Measures the cost of capture: captured against plain runs in one process, interleaved in the order plain, captured, captured, plain.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_OVERHEAD_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_OVERHEAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"

namespace tensortap::onnxruntime {

struct Overhead {
  double ratio = 0;  // median over the quartets; of_means: all captured time over all plain time
  double low = 0;    // quartiles over the quartets
  double high = 0;
  double plain_ms = 0;  // median of a run; of_means: its mean
  uint64_t quartets = 0;
  bool of_means = false;
  uint64_t captured_runs = 0;
  std::optional<double> reported;  // the budget's own measurement of the same runs
};

struct OverheadOptions {
  int64_t time_ns = 4'000'000'000;
  int64_t burst_ns = 10'000'000;
  uint64_t max_quartets = 200;
  // If only some runs are captured, means over so many runs are compared, with the time of the first run; 0 = every run is captured.
  uint64_t captured_runs = 0;
  int64_t longest_ns = 60'000'000'000;  // for those
  // Asked between quartets: measure on?
  std::function<bool()> may_go_on;
};

// Both functions run the model once. Errors: theirs.
Result<Overhead> measure_overhead(const std::function<Status()>& plain, const std::function<Status()>& captured,
                                  const OverheadOptions& options);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_OVERHEAD_H_
