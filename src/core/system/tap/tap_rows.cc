#include "system/tap/tap_rows.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "format/npy/npy_header.h"
#include "system/tap/file_columns.h"
#include "system/tap/records_file.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

struct Begin {
  uint64_t offset = kRowsBegin;
  uint64_t rows = 0;  // by the header
  bool damaged = false;
  FileColumns columns = {};
};

// Without a header the rows say themselves how long they are: by how many of the first are complete.
FileColumns guessed_columns(std::span<const std::byte> bytes) {
  constexpr uint64_t kLooks = 64;
  FileColumns best;
  uint64_t most = 0;
  for (const FileColumns& columns : {FileColumns(), FileColumns::of_narrow_rows()}) {
    uint64_t complete = 0;
    for (uint64_t i = 0; i < kLooks && kRowsBegin + (i + 1) * columns.row_bytes() <= bytes.size(); ++i) {
      const std::byte* row = bytes.data() + kRowsBegin + i * columns.row_bytes();
      complete += columns.is_committed(row) && columns.row_at(row).sequence < kLooks * kLooks ? 1 : 0;
    }
    if (complete <= most) continue;
    most = complete;
    best = columns;
  }
  return best;
}

Result<Begin> read_begin(std::span<const std::byte> bytes, std::vector<std::string>& problems) {
  const Result<NpyHeader> header = parse_npy_header(bytes);
  Begin begin;
  if (!header.ok() || header->fields.empty() || header->shape.size() != 1) {
    begin.damaged = true;
    begin.columns = guessed_columns(bytes);
    problems.push_back(concat("records.npy: the header is damaged (", header.ok() ? "not a table" : header.status().message(),
                              "); rows are taken from byte ", kRowsBegin, " on"));
    return begin;
  }
  TENSORTAP_ASSIGN_OR_RETURN(begin.columns, FileColumns::of(header->fields));
  begin.offset = header->data_begin;
  begin.rows = static_cast<uint64_t>(header->shape[0]);
  return begin;
}

// Whether rows can be used where they are.
bool is_usable(const std::byte* data, const FileColumns& columns) {
  return columns.are_ours() && reinterpret_cast<uintptr_t>(data) % alignof(RecordRow) == 0;
}

// Copies the complete ones of `count` rows, or all of them.
void copy_rows(const std::byte* data, uint64_t count, const FileColumns& columns, bool all, TapRows& result) {
  result.copied.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte* row = data + i * columns.row_bytes();
    if (all || columns.is_committed(row)) result.copied.push_back(columns.row_at(row));
  }
  result.rows = result.copied;
}

void find_committed(const std::byte* data, uint64_t available, const FileColumns& columns, TapRows& result) {
  uint64_t prefix = 0;
  while (prefix < available && columns.is_committed(data + prefix * columns.row_bytes())) ++prefix;
  uint64_t end = available;
  while (end > prefix && !columns.is_committed(data + (end - 1) * columns.row_bytes())) --end;
  if (end == prefix && is_usable(data, columns)) {
    result.rows = {reinterpret_cast<const RecordRow*>(data), prefix};
    return;
  }
  copy_rows(data, end, columns, false, result);
  result.gaps = end - result.copied.size();
}

}  // namespace

void keep_complete(std::span<const std::byte> before, std::span<std::byte> now) {
  std::vector<std::string> told_later;
  const Result<Begin> begin = read_begin(now, told_later);
  if (!begin.ok() || begin->damaged) return;
  const FileColumns& columns = begin->columns;
  for (uint64_t at = begin->offset; at + columns.row_bytes() <= now.size(); at += columns.row_bytes()) {
    const bool was_complete = at + columns.row_bytes() <= before.size() && columns.is_committed(before.data() + at);
    if (!was_complete) columns.unmark(now.data() + at);
  }
}

Result<TapRows> read_rows(std::span<const std::byte> bytes, bool finished) {
  TapRows result;
  TENSORTAP_ASSIGN_OR_RETURN(const Begin begin, read_begin(bytes, result.problems));
  result.unknown_columns = begin.columns.unknown();
  if (bytes.size() < begin.offset) {
    if (!begin.damaged) result.problems.emplace_back("records.npy: cut short within its header");
    return result;
  }
  const std::byte* data = bytes.data() + begin.offset;
  const uint64_t row_bytes = begin.columns.row_bytes();
  const uint64_t available = (bytes.size() - begin.offset) / row_bytes;
  const bool agrees = !begin.damaged && available == begin.rows && (bytes.size() - begin.offset) % row_bytes == 0;
  if (finished && agrees) {
    if (is_usable(data, begin.columns)) {
      result.rows = {reinterpret_cast<const RecordRow*>(data), available};
    } else {
      copy_rows(data, available, begin.columns, true, result);
    }
    result.exact = true;
    return result;
  }
  find_committed(data, available, begin.columns, result);
  result.on_the_way = static_cast<uint64_t>(std::ranges::count_if(result.rows, waits_for_values));
  result.exact = agrees && result.gaps == 0 && result.rows.size() == available;
  if (finished && !result.exact && !begin.damaged) {
    const uint64_t present = result.rows.size() + result.gaps;
    result.cut = begin.rows - std::min(begin.rows, present);
    result.problems.push_back(
        concat("records.npy: ", begin.rows, " rows by the header, ", result.rows.size(), " complete ones in the file"));
  }
  if (result.gaps > 0)
    result.problems.push_back(concat("records.npy: ", result.gaps, " rows were begun and not completed; they are skipped"));
  return result;
}

}  // namespace tensortap::tap
