// Central directory, local headers and members of untrusted ZIP archives (APPNOTE 6.3.9).

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/spans.h"
#include "base/text.h"
#include "format/npz/zip_archive.h"
#include "format/npz/zip_headers.h"

namespace tensortap {
namespace {

constexpr uint64_t kEndFixed = 22;
constexpr uint64_t kEnd64Fixed = 56;
constexpr uint64_t kLocator64Fixed = 20;
constexpr uint16_t kEncrypted = 1U << 0;
constexpr uint16_t kSizesFollow = 1U << 3;
constexpr uint64_t kMostExpansion = 1032;  // of deflate
constexpr uint64_t kLongestMatch = 258;    // of deflate

using Bytes = std::span<const std::byte>;

Status bad_zip(std::string_view what) { return corrupt(concat("zip: ", what)); }

Status bad_member(const ZipEntry& entry, std::string_view what) { return bad_zip(concat("the member ", quote(entry.name), " ", what)); }

class Decompressor {
 public:
  Decompressor() : state_(libdeflate_alloc_decompressor(), libdeflate_free_decompressor) {}
  // `got`: the bytes of `target` that were written, when it succeeds.
  libdeflate_result run(Bytes source, std::span<std::byte> target, size_t& got) const {
    if (state_ == nullptr) return LIBDEFLATE_BAD_DATA;
    return libdeflate_deflate_decompress(state_.get(), source.data(), source.size(), target.data(), target.size(), &got);
  }

 private:
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> state_;
};

template <class T>
T get(Bytes bytes, uint64_t offset) {
  T value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Whether [offset, offset + size) lies within `total` bytes, without overflow.
bool fits(uint64_t offset, uint64_t size, uint64_t total) { return offset <= total && size <= total - offset; }

// Replaces values that are all ones by those of the ZIP64 extra field, in the order of `values`.
Status apply_zip64(Bytes extra, std::span<uint64_t* const> values) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const auto id = get<uint16_t>(extra, at);
    const auto size = get<uint16_t>(extra, at + 2);
    const auto content = part_of(extra, at + 4, size);
    if (!content) return bad_zip("an extra field ends outside its header");
    if (id == kExtra64) {
      Bytes field = *content;
      for (uint64_t* value : values) {
        if (*value != kLimit32) continue;
        if (field.size() < 8) return bad_zip("a ZIP64 field is too short");
        *value = get<uint64_t>(field, 0);
        field = after(field, 8);
      }
      return {};
    }
    at += 4U + size;
  }
  for (const uint64_t* value : values) {
    if (*value == kLimit32) return bad_zip("a ZIP64 field is missing");
  }
  return {};
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

Result<uint64_t> find_end(Bytes bytes) {
  if (bytes.size() < kEndFixed) return bad_zip("too short for an end record");
  const uint64_t last = bytes.size() - kEndFixed;
  const uint64_t first = last > kLimit16 ? last - kLimit16 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (get<uint32_t>(bytes, at) == kEndSignature && get<uint16_t>(bytes, at + 20) == last - at) return at;
  }
  return bad_zip("no end record: the archive is cut short or was never finished");
}

Result<Directory> find_directory(Bytes bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t end, find_end(bytes));
  Directory directory{get<uint32_t>(bytes, end + 16), get<uint32_t>(bytes, end + 12), get<uint16_t>(bytes, end + 10)};
  uint64_t limit = end;
  if (get<uint16_t>(bytes, end + 4) != 0 && get<uint16_t>(bytes, end + 4) != kLimit16) return unsupported("zip: archives in several parts");
  if (end >= kLocator64Fixed && get<uint32_t>(bytes, end - kLocator64Fixed) == kLocator64Signature) {
    const auto at = get<uint64_t>(bytes, end - kLocator64Fixed + 8);
    if (!fits(at, kEnd64Fixed, end) || get<uint32_t>(bytes, at) != kEnd64Signature)
      return bad_zip("the ZIP64 end record is not where it should be");
    directory = {get<uint64_t>(bytes, at + 48), get<uint64_t>(bytes, at + 40), get<uint64_t>(bytes, at + 32)};
    limit = at;
  }
  if (!fits(directory.offset, directory.size, limit)) return bad_zip("the central directory lies outside the archive");
  if (directory.count > directory.size / kCentralFixed) return bad_zip("more members than the central directory has room for");
  return directory;
}

// The fields after name and extra lengths are read; `at` moves to the next entry.
Result<ZipEntry> read_central(Bytes directory, uint64_t& at) {
  if (!fits(at, kCentralFixed, directory.size()) || get<uint32_t>(directory, at) != kCentralSignature)
    return bad_zip("a directory entry is damaged");
  const uint64_t name_size = get<uint16_t>(directory, at + 28);
  const uint64_t extra_size = get<uint16_t>(directory, at + 30);
  const uint64_t total = kCentralFixed + name_size + extra_size + get<uint16_t>(directory, at + 32);
  const auto extra = part_of(directory, at + kCentralFixed + name_size, extra_size);
  if (!extra || !fits(at, total, directory.size())) return bad_zip("a directory entry ends outside the directory");
  ZipEntry entry;
  entry.name.assign(reinterpret_cast<const char*>(directory.data()) + at + kCentralFixed, name_size);
  if ((get<uint16_t>(directory, at + 8) & kEncrypted) != 0)
    return unsupported(concat("zip: the member ", quote(entry.name), " is encrypted"));
  entry.method = get<uint16_t>(directory, at + 10);
  if (entry.method != 0 && entry.method != 8) {
    return unsupported(
        concat("zip: the member ", quote(entry.name), " is compressed by method ", entry.method, "; stored and deflate are read"));
  }
  entry.crc = get<uint32_t>(directory, at + 16);
  entry.stored_size = get<uint32_t>(directory, at + 20);
  entry.size = get<uint32_t>(directory, at + 24);
  entry.header_offset = get<uint32_t>(directory, at + 42);
  uint64_t* const values[] = {&entry.size, &entry.stored_size, &entry.header_offset};
  TENSORTAP_RETURN_IF_ERROR(apply_zip64(*extra, values));
  at += total;
  return entry;
}

Status check_sizes(const ZipEntry& entry) {
  if (entry.method == 0 && entry.size != entry.stored_size) return bad_zip(concat("the member ", quote(entry.name), " has two sizes"));
  if (entry.method == 8 && entry.size / kMostExpansion > entry.stored_size) {
    return bad_zip(concat("the member ", quote(entry.name), " says that it is larger than deflate can make it"));
  }
  return {};
}

// Finds the content by the local header; `limit` is where the directory begins.
Status locate(Bytes bytes, uint64_t limit, ZipEntry& entry) {
  const uint64_t at = entry.header_offset;
  if (!fits(at, kLocalFixed, limit) || get<uint32_t>(bytes, at) != kLocalSignature) {
    return bad_zip(concat("the member ", quote(entry.name), " is not where the directory says"));
  }
  const uint64_t header = kLocalFixed + get<uint16_t>(bytes, at + 26) + get<uint16_t>(bytes, at + 28);
  if (!fits(at, header, limit) || !fits(at + header, entry.stored_size, limit)) {
    return bad_zip(concat("the member ", quote(entry.name), " ends outside the archive"));
  }
  entry.data_offset = at + header;
  return check_sizes(entry);
}

Status check_overlap(std::span<const ZipEntry> entries) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  places.reserve(entries.size());
  for (const ZipEntry& entry : entries) places.emplace_back(entry.header_offset, entry.data_offset + entry.stored_size);
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) return bad_zip("two members overlap");
  }
  return {};
}

}  // namespace

bool is_zip(Bytes head) {
  return head.size() >= 4 && (get<uint32_t>(head, 0) == kLocalSignature || get<uint32_t>(head, 0) == kEndSignature);
}

Result<std::vector<ZipEntry>> read_zip_directory(Bytes bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const Directory directory, find_directory(bytes));
  const auto entries_bytes = part_of(bytes, directory.offset, directory.size);
  if (!entries_bytes) return bad_zip("the central directory lies outside the archive");
  std::vector<ZipEntry> entries;
  entries.reserve(directory.count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < directory.count; ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(ZipEntry entry, read_central(*entries_bytes, at));
    TENSORTAP_RETURN_IF_ERROR(locate(bytes, directory.offset, entry));
    entries.push_back(std::move(entry));
  }
  TENSORTAP_RETURN_IF_ERROR(check_overlap(entries));
  return entries;
}

Result<ZipEntry> read_local_header(Bytes bytes, uint64_t offset) {
  if (!fits(offset, kLocalFixed, bytes.size()) || get<uint32_t>(bytes, offset) != kLocalSignature) return bad_zip("no member begins here");
  const uint64_t name_size = get<uint16_t>(bytes, offset + 26);
  const uint64_t extra_size = get<uint16_t>(bytes, offset + 28);
  const uint64_t header = kLocalFixed + name_size + extra_size;
  const auto extra = part_of(bytes, offset + kLocalFixed + name_size, extra_size);
  if (!extra) return bad_zip("the archive ends within a local header");
  ZipEntry entry;
  entry.name.assign(reinterpret_cast<const char*>(bytes.data()) + offset + kLocalFixed, name_size);
  entry.header_offset = offset;
  entry.data_offset = offset + header;
  entry.method = get<uint16_t>(bytes, offset + 8);
  entry.crc = get<uint32_t>(bytes, offset + 14);
  entry.stored_size = get<uint32_t>(bytes, offset + 18);
  entry.size = get<uint32_t>(bytes, offset + 22);
  const auto flags = get<uint16_t>(bytes, offset + 6);
  if ((flags & (kEncrypted | kSizesFollow)) != 0 || (entry.method != 0 && entry.method != 8))
    return unsupported("zip: unsupported local header");
  uint64_t* const values[] = {&entry.size, &entry.stored_size};
  TENSORTAP_RETURN_IF_ERROR(apply_zip64(*extra, values));
  if (!fits(entry.data_offset, entry.stored_size, bytes.size()))
    return bad_zip(concat("the archive ends within the member ", quote(entry.name)));
  TENSORTAP_RETURN_IF_ERROR(check_sizes(entry));
  return entry;
}

Result<std::string> read_member_head(Bytes bytes, const ZipEntry& entry, uint64_t count) {
  const auto stored = part_of(bytes, entry.data_offset, entry.stored_size);
  if (!stored) return bad_zip("the archive ends within a member");
  if (entry.method == 0) {
    const Bytes head = first_of(*stored, count);
    return std::string(reinterpret_cast<const char*>(head.data()), head.size());
  }
  // Decompression stops at data that does not fit. By then it has written the bytes up to the last match, which has at most kLongestMatch
  // bytes.
  std::string head(std::min<uint64_t>(entry.size, count + kLongestMatch), '\0');
  size_t got = 0;
  const auto outcome = Decompressor().run(*stored, std::as_writable_bytes(std::span(head)), got);
  if (outcome == LIBDEFLATE_INSUFFICIENT_SPACE) return head;
  if (outcome != LIBDEFLATE_SUCCESS) return bad_member(entry, "cannot be decompressed");
  head.resize(got);
  return head;
}

Result<Bytes> read_member(Bytes bytes, const ZipEntry& entry, std::shared_ptr<const void>& owner) {
  const auto stored = part_of(bytes, entry.data_offset, entry.stored_size);
  if (!stored) return bad_zip("the archive ends within a member");
  Bytes content = *stored;
  if (entry.method == 8) {
    const std::shared_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[std::max<uint64_t>(entry.size, 1)]);
    if (buffer == nullptr) return exhausted(concat("zip: no memory for the ", bytes_text(entry.size), " of ", quote(entry.name)));
    size_t got = 0;
    const auto outcome = Decompressor().run(content, {buffer.get(), entry.size}, got);
    if (outcome != LIBDEFLATE_SUCCESS || got != entry.size) return bad_member(entry, "cannot be decompressed");
    content = {buffer.get(), entry.size};
    owner = buffer;
  }
  if (zip_crc(0, content) != entry.crc) return bad_member(entry, "is damaged: its CRC-32 differs");
  return content;
}

}  // namespace tensortap
