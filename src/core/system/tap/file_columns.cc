#include "system/tap/file_columns.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "tensor/statistics.h"

namespace tensortap::tap {
namespace {

// Room for columns to come, at the end of a row.
constexpr std::string_view kSpare = "spare";
constexpr uint64_t kMostColumnBytes = 65536;

// The bytes of a column in each row; nothing for a type or a size that no column has. With the limit, the sum of all columns cannot
// overflow: then a hostile header would lead readers out of the file.
std::optional<uint64_t> column_bytes(const NpyField& field) {
  constexpr std::string_view kByteOrders = "<|>=";
  constexpr std::string_view kTypes = "?bBiufcSaUV";
  if (field.descr.size() < 3 || kByteOrders.find(field.descr[0]) == std::string_view::npos ||
      kTypes.find(field.descr[1]) == std::string_view::npos)
    return std::nullopt;
  uint64_t bytes = 0;
  if (!parse_unsigned(std::string_view(field.descr).substr(2), bytes)) return std::nullopt;
  if (bytes > kMostColumnBytes || field.count > kMostColumnBytes) return std::nullopt;
  bytes *= field.count * (field.descr[1] == 'U' ? 4 : 1);
  return bytes <= kMostColumnBytes ? std::optional(bytes) : std::nullopt;
}

const RecordField* find_field(std::string_view name) {
  const auto fields = record_fields();
  const auto found = std::ranges::find(fields, name, &RecordField::name);
  return found == fields.end() ? nullptr : &*found;
}

bool has(std::span<const NpyField> fields, std::string_view name) {
  return std::ranges::any_of(fields, [name](const NpyField& field) { return field.name == name; });
}

bool is_like(const NpyField& field, const RecordField& ours) { return field.descr == ours.numpy_type && field.count == ours.count; }

Status lacks_column(std::string_view name) {
  return unsupported(concat("records.npy: lacks the column ", quote(name), ", which every version has (docs/layouts/tap.md)"));
}

}  // namespace

void FileColumns::add_copy(Copy copy) {
  if (!copies_.empty() && copies_.back().from + copies_.back().size == copy.from && copies_.back().to + copies_.back().size == copy.to) {
    copies_.back().size += copy.size;
  } else {
    copies_.push_back(copy);
  }
}

Result<FileColumns> FileColumns::of(std::span<const NpyField> fields) {
  FileColumns columns;
  uint64_t offset = 0;
  for (const NpyField& field : fields) {
    const std::optional<uint64_t> size = column_bytes(field);
    if (!size) return unsupported(concat("records.npy: the column ", quote(field.name), " has the unknown type ", quote(field.descr)));
    const RecordField* ours = field.name == kSpare ? nullptr : find_field(field.name);
    if (ours != nullptr && !is_like(field, *ours)) {
      return unsupported(concat("records.npy: the column ", quote(field.name), " has the type ", field.descr, ", not ", ours->numpy_type,
                                "; a later version of tensortap may read it"));
    }
    if (ours != nullptr) columns.add_copy({offset, ours->offset, *size});
    if (ours == nullptr && field.name != kSpare) columns.unknown_.push_back(field.name);
    if (field.name == "committed") columns.committed_at_ = offset;
    offset += *size;
  }
  for (const RecordField& field : first_record_fields()) {
    if (!has(fields, field.name) && find_statistic(field.name) == nullptr) return lacks_column(field.name);
  }
  for (const Statistic& statistic : kStatisticTable) {
    if (!has(fields, statistic.name)) columns.measured_ &= ~uint32_t{statistic.bit};
  }
  columns.row_bytes_ = offset;
  const bool whole = columns.copies_.size() == 1 && offset == sizeof(RecordRow) && columns.unknown_.empty();
  if (whole && columns.copies_.front().size + sizeof(RecordRow::spare) == sizeof(RecordRow)) columns.copies_.clear();
  return columns;
}

FileColumns FileColumns::of_narrow_rows() {
  FileColumns columns;
  columns.row_bytes_ = kNarrowRowBytes;
  columns.measured_ = ~uint32_t{kStatMeanAbs | kStatSubnormal};
  constexpr uint64_t kBegin = kNarrowBytesBeforeData;
  constexpr uint64_t kMoved = offsetof(RecordRow, data_offset) - kBegin;
  columns.copies_ = {{0, 0, kBegin}, {kBegin, kBegin + kMoved, kNarrowRowBytes - kBegin}};
  columns.committed_at_ = offsetof(RecordRow, committed) - kMoved;
  return columns;
}

bool FileColumns::is_committed(const std::byte* row) const {
  return __atomic_load_n(reinterpret_cast<const uint8_t*>(row) + committed_at_, __ATOMIC_ACQUIRE) == 1;
}

RecordRow FileColumns::row_at(const std::byte* row) const {
  RecordRow made;
  auto* bytes = reinterpret_cast<std::byte*>(&made);
  if (are_ours()) {
    std::memcpy(bytes, row, sizeof(made));
    return made;
  }
  for (const Copy& copy : copies_) std::memcpy(bytes + copy.to, row + copy.from, copy.size);
  made.stats.valid &= measured_;
  return made;
}

}  // namespace tensortap::tap
