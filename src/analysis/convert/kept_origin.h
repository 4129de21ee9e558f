// Keeps beside a tree of another system what the tree cannot store: read/restored_dump.h joins the two again.

#ifndef TENSORTAP_CONVERT_KEPT_ORIGIN_H_
#define TENSORTAP_CONVERT_KEPT_ORIGIN_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"
#include "stats/histogram.h"
#include "trace/dump_index.h"
#include "trace/record_row.h"

namespace tensortap {

struct KeptRecord {
  size_t row;         // in the dump
  RecordRow content;  // as it was converted
  bool filed = true;  // whether the tree has a row of it
};

// Writes ops and records of `dump` without tensors into kOriginFolder of `folder`. `files` has the names of each op's files in the tree of
// `layout`. Errors: kUnsupported where an earlier conversion left such a folder; kIo, kExhausted. Readers never accept a half-written
// folder.
Status keep_origin(const DumpIndex& dump, std::span<const KeptRecord> records, std::span<const std::vector<std::string>> files,
                   std::string_view layout, const std::string& folder);

// The manifest for a copy of the dump. The copy of an incomplete dump stays known as incomplete.
std::string manifest_of_copy(const DumpIndex& dump);

// Passes the sketch of a record to a writer, before `row`. If the writer cannot store the sketch, `row` records that it has none.
void copy_sketch(const DumpIndex& dump, size_t number, RecordRow& row, const LayoutParts& parts);

// The histogram of a record; false when it has none.
bool histogram_of(const DumpIndex& dump, size_t row, ExponentHistogram& histogram);

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_KEPT_ORIGIN_H_
