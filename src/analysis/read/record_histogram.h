// Counts of a record's values by their magnitude, from the dump or from the values.

#ifndef TENSORTAP_READ_RECORD_HISTOGRAM_H_
#define TENSORTAP_READ_RECORD_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// The 283 numbers of DumpIndex::histogram() where it was taken, otherwise made from `data`; empty when there are neither, and for types
// that are not floating. `row` is a valid row number.
std::vector<uint64_t> histogram_of(const DumpIndex& dump, size_t row, const Result<RecordData>& data);

}  // namespace tensortap

#endif  // TENSORTAP_READ_RECORD_HISTOGRAM_H_
