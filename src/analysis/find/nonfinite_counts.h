// Counts of NaN and Inf of a record: its own, or made from its data. Private to this folder.

#ifndef TENSORTAP_FIND_NONFINITE_COUNTS_H_
#define TENSORTAP_FIND_NONFINITE_COUNTS_H_

#include <cstdint>
#include <optional>

#include "trace/dump_index.h"

namespace tensortap {

inline bool can_hold_nonfinite(const RecordRow& row) { return is_floating(static_cast<DType>(row.dtype)); }

// Whether the record is of the first elements of a tensor alone. Of other samples `count` is less than `numel`, which is the tensor's.
inline bool holds_part(const RecordRow& row) {
  return (row.stats.valid & kStatSampled) != 0 && (row.stats.count == 0 || row.stats.count >= row.numel);
}

// Returns statistics with these bits (Stat). Uses the record's own statistics if they cover all elements, otherwise computes them from its
// data. Without data, returns sampled statistics, or nothing if the record has none.
std::optional<TensorStats> stats_with(const DumpIndex& dump, size_t row, uint32_t wanted);

// What is known about NaN and Inf in a record.
enum class Holding : uint8_t { kNone, kSome, kUnknown };
// Memory that nothing was written to holds none.
Holding holding_of(const DumpIndex& dump, size_t row);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_NONFINITE_COUNTS_H_
