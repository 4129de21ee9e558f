#include "system/tap/tap_members.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/spans.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

Status bad_row(std::string_view what) { return corrupt(concat("tensors.npz and records.npy do not agree: ", what)); }

Status check_desc(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  if (row.dims_count > kMaxRank || static_cast<uint8_t>(desc.dtype) != row.dtype || desc.dtype == DType::kUndefined) {
    return bad_row("the row has no valid dtype or shape");
  }
  if (desc.shape.numel() != row.numel) return bad_row("the row's shape and number of elements differ");
  if (desc.dtype == DType::kString) {
    return row.numel <= row.data_bytes / sizeof(uint64_t) ? Status() : bad_row("too few bytes for its strings");
  }
  return packed_bytes(desc.dtype, row.numel) == row.data_bytes ? Status() : bad_row("the row's shape and number of bytes differ");
}

// Number of elements of a shape out of a file, which may say anything.
std::optional<uint64_t> count_of(std::span<const int64_t> shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) return std::nullopt;
  }
  return count;
}

// The npy header between a member's local header and its elements. The shape is that of the record that wrote the member: others that share
// its elements may count them in other dimensions.
Status check_npy_header(std::span<const std::byte> bytes, const RecordRow& row) {
  TENSORTAP_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(bytes));
  const TensorDesc desc = row.desc();
  const DTypeInfo& info = dtype_info(desc.dtype);
  const bool whole_bytes = info.bits >= 8;
  const bool same = header.data_begin == bytes.size() && header.descr == (whole_bytes ? info.numpy_descr : "|u1") &&
                    (!header.fortran_order || header.shape.size() <= 1) &&
                    count_of(header.shape) == (whole_bytes ? row.numel : row.data_bytes);
  return same ? Status() : bad_row("the member has another dtype or shape");
}

struct Strings {
  std::vector<StringElement> elements;
};

Result<RecordData> string_tensor(std::span<const std::byte> data, const RecordRow& row) {
  auto strings = std::make_shared<Strings>();
  strings->elements.reserve(row.numel);
  std::span<const std::byte> texts = after(data, row.numel * sizeof(uint64_t));
  for (uint64_t i = 0; i < row.numel; ++i) {
    uint64_t size = 0;
    std::memcpy(&size, data.data() + i * sizeof(uint64_t), sizeof(uint64_t));
    if (size > texts.size()) return bad_row("a string ends outside its member");
    strings->elements.push_back({reinterpret_cast<const char*>(texts.data()), size});
    texts = after(texts, size);
  }
  if (!texts.empty()) return bad_row("bytes after the last string");
  RecordData result;
  result.view = {row.desc(), strings->elements.data(), nullptr};
  result.owner = std::move(strings);
  return result;
}

}  // namespace

Result<ZipEntry> find_member(std::span<const std::byte> bytes, const RecordRow& row) {
  if ((row.flags & kRecordHasData) == 0) {
    if (waits_for_values(row)) {
      return not_found("the record's values were on their way into the dump when its program died, or still are; it has its statistics");
    }
    if ((row.flags & kRecordDataLost) != 0) return not_found("the record's values were lost (run.json says why); it has its statistics");
    return not_found("the record has statistics only; capture with --tensors or --full to keep values");
  }
  TENSORTAP_RETURN_IF_ERROR(check_desc(row));
  if (row.data_offset > bytes.size() || row.data_bytes > bytes.size() - row.data_offset || row.data_header > row.data_offset) {
    return bad_row("the record's values lie outside tensors.npz, which was cut short");
  }
  const uint64_t begin = row.data_offset - row.data_header;
  TENSORTAP_ASSIGN_OR_RETURN(ZipEntry entry, read_local_header(bytes, begin));
  if (entry.method != 0 || entry.data_offset > row.data_offset || entry.data_offset + entry.size != row.data_offset + row.data_bytes) {
    return bad_row("the member has another size");
  }
  const auto header = part_of(bytes, entry.data_offset, row.data_offset - entry.data_offset);
  if (!header) return bad_row("the member has another size");
  TENSORTAP_RETURN_IF_ERROR(check_npy_header(*header, row));
  return entry;
}

Result<RecordData> member_tensor(std::span<const std::byte> bytes, const RecordRow& row) {
  const auto data = part_of(bytes, row.data_offset, row.data_bytes);
  if (!data) return bad_row("the record's values lie outside tensors.npz");
  if (static_cast<DType>(row.dtype) == DType::kString) return string_tensor(*data, row);
  RecordData result;
  result.view = {row.desc(), data->data(), nullptr};
  return result;
}

}  // namespace tensortap::tap
