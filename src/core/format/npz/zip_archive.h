// ZIP archives as .npz files have them: stored and deflated members, ZIP64. Reading is for untrusted bytes; writing makes stored members
// with complete local headers. Shared by the format npz and the native layout; docs/formats/npz.md is the authority.

#ifndef TENSORTAP_FORMAT_NPZ_ZIP_ARCHIVE_H_
#define TENSORTAP_FORMAT_NPZ_ZIP_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

struct ZipEntry {
  std::string name;
  uint64_t header_offset = 0;  // of the local header
  uint64_t data_offset = 0;    // of the (compressed) content
  uint64_t stored_size = 0;    // bytes in the archive
  uint64_t size = 0;           // bytes when decompressed
  uint32_t crc = 0;            // CRC-32 of the decompressed content
  uint16_t method = 0;         // 0 stored, 8 deflated
};

bool is_zip(std::span<const std::byte> head);

// The members by the central directory. Every offset and size is inside `bytes` and no two members overlap. Errors: kCorrupt; kUnsupported
// for encrypted members, other compression methods and archives in several parts.
Result<std::vector<ZipEntry>> read_zip_directory(std::span<const std::byte> bytes);
// The member whose local header is at `offset`, by that header alone: complete sizes, content inside `bytes`. For archives without a
// directory. The CRC is not compared.
Result<ZipEntry> read_local_header(std::span<const std::byte> bytes, uint64_t offset);

// The content of a member, decompressed into `owner` when it is deflated, otherwise borrowed from `bytes`. kCorrupt when the CRC differs.
Result<std::span<const std::byte>> read_member(std::span<const std::byte> bytes, const ZipEntry& entry, std::shared_ptr<const void>& owner);

// At least the first `count` bytes of a member, all of them when it has fewer; its CRC is not compared. Takes no more memory than `count`
// and a little. Errors: kCorrupt, kExhausted.
Result<std::string> read_member_head(std::span<const std::byte> bytes, const ZipEntry& entry, uint64_t count);

uint32_t zip_crc(uint32_t crc, std::span<const std::byte> bytes);  // begins with 0

// A member that is written: its place, so that the header can be padded.
struct ZipMember {
  std::string_view name;    // UTF-8, at most 65535 bytes
  uint64_t offset = 0;      // of the local header
  uint64_t size = 0;        // of the content, stored
  uint64_t prefix = 0;      // bytes of the content that come before what is to be aligned
  uint64_t alignment = 64;  // of offset + header + prefix; at most 32768
  uint32_t crc = 0;
};
// The local header, padded by an extra field (id 0xd935) so that the content's byte `prefix` is aligned.
std::string make_local_header(const ZipMember& member);
// Bytes that make_local_header() will take; independent of the CRC.
uint64_t local_header_size(const ZipMember& member);

// Collects the central directory. Thread-compatible.
class ZipDirectory {
 public:
  void add(const ZipMember& member);
  // The most bytes that a member of such a name takes in the directory.
  static uint64_t most_bytes(std::string_view name);
  [[nodiscard]] uint64_t count() const { return count_; }
  // The directory and its end records for an archive whose members end at `offset`.
  [[nodiscard]] std::string finish(uint64_t offset) const;

 private:
  std::string entries_;
  uint64_t count_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_NPZ_ZIP_ARCHIVE_H_
