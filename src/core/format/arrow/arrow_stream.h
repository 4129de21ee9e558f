// Tables as Arrow's C data interface hands them over.

#ifndef TENSORTAP_FORMAT_ARROW_ARROW_STREAM_H_
#define TENSORTAP_FORMAT_ARROW_ARROW_STREAM_H_

#include <functional>
#include <optional>
#include <vector>

#include "base/column.h"
#include "base/status.h"
#include "format/arrow/c_data.h"

namespace tensortap {

// The next batch: a column for each of the table, all with the same number of rows; nothing after the last.
using NextBatch = std::function<Result<std::optional<std::vector<Column>>>()>;

// Fills `stream`, whose reader owns it from then on: it may be read from any thread, one at a time, and releases what `next` keeps.
// Failures of `next` reach the reader as an error number and a message.
void make_arrow_stream(std::vector<ColumnSpec> columns, NextBatch next, ArrowArrayStream& stream);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ARROW_ARROW_STREAM_H_
