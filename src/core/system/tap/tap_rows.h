// The rows of records.npy as a reader finds them: of a whole, a growing, a crashed or a damaged file.

#ifndef TENSORTAP_SYSTEM_TAP_TAP_ROWS_H_
#define TENSORTAP_SYSTEM_TAP_TAP_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/record_row.h"

namespace tensortap::tap {

struct TapRows {
  std::span<const RecordRow> rows;           // borrows from the file's bytes, or from `copied`
  std::vector<RecordRow> copied;             // when rows between were not complete, or have other columns than RecordRow
  uint64_t gaps = 0;                         // rows that were begun and never completed, with complete ones after them
  uint64_t on_the_way = 0;                   // rows of an unfinished file whose values are still to come, or never will
  uint64_t cut = 0;                          // rows of a finished file that its header counts and that are not in it
  bool exact = false;                        // header and size agree: nothing is to be repaired
  std::vector<std::string> unknown_columns;  // of a later version; their values stay in the file
  std::vector<std::string> problems;
};

// Reads the bytes of a records.npy. Columns are found by their names: a statistic without a column was not measured. `finished`: the writer
// came to its end; header and size are believed, and no row is touched. Errors: kUnsupported when a column that every version has is
// missing or has another type.
Result<TapRows> read_rows(std::span<const std::byte> bytes, bool finished);

// `before` and `now` are the bytes of a records.npy that a program writes, read one after the other. Marks rows in `now` as not complete
// that are not complete in `before`: a part of them may be missing.
void keep_complete(std::span<const std::byte> before, std::span<std::byte> now);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_TAP_ROWS_H_
