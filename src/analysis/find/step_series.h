// The records of a dump as series: what one slot of one op held, step by step.

#ifndef TENSORTAP_FIND_STEP_SERIES_H_
#define TENSORTAP_FIND_STEP_SERIES_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// A record's place among the series: 32 bytes, so that a million records take little. The order is that of series, then of steps.
struct SeriesEntry {
  uint64_t op_and_rank = 0;
  uint64_t slot = 0;  // kind, moment, phase, number and the low half of the element's
  int64_t step = 0;
  uint32_t call = 0;
  uint32_t row = 0;
  [[nodiscard]] bool in_series_of(const SeriesEntry& other) const { return op_and_rank == other.op_and_rank && slot == other.slot; }
  friend auto operator<=>(const SeriesEntry&, const SeriesEntry&) = default;
};

SeriesEntry series_entry(const RecordRow& record, size_t row);

// The entries of the rows that `wanted` accepts, sorted. Skips rows without an op, and memory that nothing was written to.
std::vector<SeriesEntry> series_entries(const DumpIndex& dump, const std::function<bool(const RecordRow&)>& wanted);

// The entries at the beginning of `entries` that are of one series.
std::span<const SeriesEntry> first_series(std::span<const SeriesEntry> entries);

// What a slot held in one step, all calls of the op in it together.
struct StepPoint {
  int64_t step = 0;
  uint32_t row = 0;        // the last record of the step
  double rms = 0;          // root of the mean square; NaN = not known
  double absmax = 0;       // NaN = not known
  double zero_share = 0;   // NaN = not known
  bool nonfinite = false;  // holds NaN or Inf: rms and absmax are NaN then
  uint64_t identity = 0;   // equal for equal digests, or equal statistics; 0 = not known
};

// Points of one series, by step, from the records' statistics alone.
std::vector<StepPoint> step_points(const DumpIndex& dump, std::span<const SeriesEntry> series);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_STEP_SERIES_H_
