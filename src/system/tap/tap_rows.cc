#include "system/tap/tap_rows.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "format/npy/npy_header.h"
#include "system/tap/records_file.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

struct Begin {
  uint64_t offset = kRowsBegin;
  uint64_t rows = 0;  // by the header
  bool damaged = false;
};

// Files of older versions end with a column `spare` where newer ones have more columns; it contains zeros.
bool columns_match(std::span<const NpyField> fields) {
  const std::span<const RecordField> ours = record_fields();
  const auto same = [&](size_t i) {
    return fields[i].name == ours[i].name && fields[i].descr == ours[i].numpy_type && fields[i].count == ours[i].count;
  };
  size_t shared = 0;
  while (shared < fields.size() && shared < ours.size() && same(shared)) ++shared;
  if (shared < first_record_fields().size()) return false;
  return shared == fields.size() ? shared == ours.size() : fields[shared].name == "spare";
}

Result<Begin> read_begin(std::span<const std::byte> bytes, std::vector<std::string>& problems) {
  const Result<NpyHeader> header = parse_npy_header(bytes);
  Begin begin;
  begin.damaged = true;
  if (!header.ok() || header->fields.empty() || header->shape.size() != 1) {
    problems.push_back(concat("records.npy: the header is damaged (", header.ok() ? "not a table" : header.status().message(),
                              "); rows are taken from byte ", kRowsBegin, " on"));
    return begin;
  }
  if (!columns_match(header->fields)) {
    return unsupported("records.npy: the columns are not those of this version of tensortap (docs/layouts/tap.md)");
  }
  return Begin{header->data_begin, static_cast<uint64_t>(header->shape[0]), false};
}

bool is_committed(const std::byte* row) {
  return __atomic_load_n(reinterpret_cast<const uint8_t*>(row) + offsetof(RecordRow, committed), __ATOMIC_ACQUIRE) == 1;
}

// Copies the complete ones of `count` rows; for rows with gaps between them, or at an address that no RecordRow may have.
void copy_committed(const std::byte* data, uint64_t count, std::vector<RecordRow>& rows) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte* row = data + i * sizeof(RecordRow);
    if (!is_committed(row)) continue;
    rows.emplace_back();
    std::memcpy(&rows.back(), row, sizeof(RecordRow));
  }
}

void find_committed(const std::byte* data, uint64_t available, TapRows& result) {
  uint64_t prefix = 0;
  while (prefix < available && is_committed(data + prefix * sizeof(RecordRow))) ++prefix;
  uint64_t end = available;
  while (end > prefix && !is_committed(data + (end - 1) * sizeof(RecordRow))) --end;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(RecordRow) == 0;
  if (end == prefix && aligned) {
    result.rows = {reinterpret_cast<const RecordRow*>(data), prefix};
    return;
  }
  copy_committed(data, end, result.copied);
  result.rows = result.copied;
  result.gaps = end - result.copied.size();
}

}  // namespace

Result<TapRows> read_rows(std::span<const std::byte> bytes, bool finished) {
  TapRows result;
  TENSORTAP_ASSIGN_OR_RETURN(const Begin begin, read_begin(bytes, result.problems));
  if (bytes.size() < begin.offset) {
    if (!begin.damaged) result.problems.emplace_back("records.npy: cut short within its header");
    return result;
  }
  const std::byte* data = bytes.data() + begin.offset;
  const uint64_t available = (bytes.size() - begin.offset) / sizeof(RecordRow);
  const bool agrees = !begin.damaged && available == begin.rows && (bytes.size() - begin.offset) % sizeof(RecordRow) == 0;
  if (finished && agrees && reinterpret_cast<uintptr_t>(data) % alignof(RecordRow) == 0) {
    result.rows = {reinterpret_cast<const RecordRow*>(data), available};
    result.exact = true;
    return result;
  }
  find_committed(data, available, result);
  result.on_the_way = static_cast<uint64_t>(std::ranges::count_if(result.rows, waits_for_values));
  result.exact = agrees && result.gaps == 0 && result.rows.size() == available;
  if (finished && !result.exact && !begin.damaged) {
    const uint64_t present = result.rows.size() + result.gaps;
    result.cut = begin.rows - std::min(begin.rows, present);
    result.problems.push_back(
        concat("records.npy: ", begin.rows, " rows by the header, ", result.rows.size(), " complete ones in the file"));
  }
  if (result.gaps > 0)
    result.problems.push_back(concat("records.npy: ", result.gaps, " rows were begun and never completed; they are skipped"));
  return result;
}

}  // namespace tensortap::tap
