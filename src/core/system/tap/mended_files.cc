#include "system/tap/mended_files.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "system/tap/records_file.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

constexpr uint64_t kRowsPerWrite = 2048;

Status write_mended_rows(File& file, std::span<const RecordRow> rows, const std::vector<bool>& lost_data) {
  TENSORTAP_RETURN_IF_ERROR(file.write(make_records_header(rows.size())));
  std::vector<RecordRow> block;
  for (size_t i = 0; i < rows.size(); ++i) {
    RecordRow& row = block.emplace_back(rows[i]);
    row.committed = 1;
    if (lost_data[i]) {
      row.flags = static_cast<uint8_t>((row.flags & ~kRecordHasData) | kRecordDataLost);
      row.data_offset = row.data_bytes = row.member = row.data_header = 0;
    }
    if (block.size() < kRowsPerWrite && i + 1 < rows.size()) continue;
    TENSORTAP_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(block))));
    block.clear();
  }
  return file.close();
}

}  // namespace

std::vector<ZipEntry> find_whole_members(std::span<const std::byte> bytes, std::span<const RecordRow> rows,
                                         const std::vector<bool>& lost_data) {
  std::vector<uint64_t> known;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RecordRow& row = rows[i];
    if ((row.flags & kRecordHasData) != 0 && !lost_data[i]) known.push_back(row.data_offset - row.data_header);
  }
  std::ranges::sort(known);
  std::vector<ZipEntry> members;
  auto next_known = known.begin();
  for (uint64_t at = 0; at < bytes.size();) {
    const Result<ZipEntry> entry = read_local_header(bytes, at);
    std::shared_ptr<const void> owner;
    const bool whole = entry.ok() && entry->method == 0 && read_member(bytes, *entry, owner).ok();
    if (whole) members.push_back(*entry);
    const uint64_t least = whole ? entry->data_offset + entry->size : at + 1;
    next_known = std::lower_bound(next_known, known.end(), least);
    const bool follows = whole && read_local_header(bytes, least).ok();
    if (!follows && next_known == known.end()) break;
    at = follows ? least : *next_known;
  }
  return members;
}

Status replace_rows(const Folder& folder, std::span<const RecordRow> rows, const std::vector<bool>& lost_data) {
  const std::string temporary = concat(kRecordsFile, ".repair");
  // A repair that was interrupted left it.
  if (folder.contains(temporary)) TENSORTAP_RETURN_IF_ERROR(folder.remove(temporary));
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder.make_temporary(temporary, kRecordsFile, access_of(join_path(folder.path(), kRecordsFile))));
  Status status = write_mended_rows(file, rows, lost_data);
  if (status.ok()) return folder.rename(temporary, kRecordsFile);
  (void)folder.remove(temporary);
  return status;
}

}  // namespace tensortap::tap
