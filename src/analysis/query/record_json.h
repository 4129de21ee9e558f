// A record as JSON, the same everywhere: ls, show, find, Python.

#ifndef TENSORTAP_QUERY_RECORD_JSON_H_
#define TENSORTAP_QUERY_RECORD_JSON_H_

#include <cstddef>

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

// step, call, rank, phase, op, type, slot, dtype, shape, numel, min, max, mean, std, l2, absmax, nan, pos_inf, neg_inf, zero, hash, file,
// source. Values that were not measured are null; extremes of integer types are exact. "element" and "moment" appear only where they
// distinguish records, "storage" and "version" where they are known, "unwritten" (true) for memory that nothing was written to. `row` is a
// valid row number.
Json record_json(const DumpIndex& dump, size_t row);

// The same with "originals": [{"name", "type"}] and "inserted_by_runtime" of the op, and its "placements" where it reads DTensors.
Json shown_record_json(const DumpIndex& dump, size_t row);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_RECORD_JSON_H_
