// Local headers and central directory of ZIP archives (APPNOTE 6.3.9).

#include <libdeflate.h>

#include "format/npz/zip_archive.h"
#include "format/npz/zip_headers.h"

namespace tensortap {
namespace {

constexpr uint16_t kExtraAlignment = 0xd935;
constexpr uint64_t kExtraAlignmentFixed = 6;  // id, size, alignment
constexpr uint16_t kUtf8Names = 1U << 11;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kVersion64 = 45;
constexpr uint16_t kDosDate = 1U << 5 | 1U;  // 1 January 1980: archives of equal data are equal

template <class T>
void put(std::string& text, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

bool is_large(const ZipMember& member) { return member.size >= kLimit32; }

// Flags, method, time, date, CRC and sizes: the part that local and central headers share.
void put_common(std::string& text, const ZipMember& member) {
  const uint32_t size = is_large(member) ? kLimit32 : static_cast<uint32_t>(member.size);
  put(text, kUtf8Names);
  put(text, uint16_t{0});
  put(text, uint16_t{0});
  put(text, kDosDate);
  put(text, member.crc);
  put(text, size);
  put(text, size);
  put(text, static_cast<uint16_t>(member.name.size()));
}

uint64_t unpadded_size(const ZipMember& member) { return kLocalFixed + member.name.size() + (is_large(member) ? 20 : 0); }

uint64_t padding_size(const ZipMember& member) {
  const uint64_t begin = member.offset + unpadded_size(member) + member.prefix;
  const uint64_t missing = (member.alignment - begin % member.alignment) % member.alignment;
  if (missing == 0) return 0;
  return missing >= kExtraAlignmentFixed ? missing : missing + member.alignment;
}

}  // namespace

uint32_t zip_crc(uint32_t crc, std::span<const std::byte> bytes) { return libdeflate_crc32(crc, bytes.data(), bytes.size()); }

uint64_t local_header_size(const ZipMember& member) { return unpadded_size(member) + padding_size(member); }

std::string make_local_header(const ZipMember& member) {
  const uint64_t padding = padding_size(member);
  std::string header;
  header.reserve(unpadded_size(member) + padding);
  put(header, kLocalSignature);
  put(header, is_large(member) ? kVersion64 : kVersion);
  put_common(header, member);
  put(header, static_cast<uint16_t>((is_large(member) ? 20 : 0) + padding));
  header += member.name;
  if (is_large(member)) {
    put(header, kExtra64);
    put(header, uint16_t{16});
    put(header, member.size);
    put(header, member.size);
  }
  if (padding > 0) {
    put(header, kExtraAlignment);
    put(header, static_cast<uint16_t>(padding - 4));
    put(header, static_cast<uint16_t>(member.alignment));
    header.append(padding - kExtraAlignmentFixed, '\0');
  }
  return header;
}

void ZipDirectory::add(const ZipMember& member) {
  const bool far = member.offset >= kLimit32;
  put(entries_, kCentralSignature);
  put(entries_, is_large(member) || far ? kVersion64 : kVersion);
  put(entries_, is_large(member) || far ? kVersion64 : kVersion);
  put_common(entries_, member);
  const int fields = (is_large(member) ? 16 : 0) + (far ? 8 : 0);
  put(entries_, static_cast<uint16_t>(fields > 0 ? fields + 4 : 0));
  put(entries_, uint16_t{0});  // comment
  put(entries_, uint16_t{0});  // disk
  put(entries_, uint16_t{0});  // internal attributes
  put(entries_, uint32_t{0});  // external attributes
  put(entries_, far ? kLimit32 : static_cast<uint32_t>(member.offset));
  entries_ += member.name;
  if (fields > 0) {
    put(entries_, kExtra64);
    put(entries_, static_cast<uint16_t>(fields));
    if (is_large(member)) put(entries_, member.size);
    if (is_large(member)) put(entries_, member.size);
    if (far) put(entries_, member.offset);
  }
  ++count_;
}

uint64_t ZipDirectory::most_bytes(std::string_view name) {
  constexpr uint64_t kMostExtra = 28;  // three numbers of ZIP64 behind their id and size
  return kCentralFixed + name.size() + kMostExtra;
}

std::string ZipDirectory::finish(uint64_t offset) const {
  std::string text = entries_;
  const uint64_t size = entries_.size();
  const bool large = count_ >= kLimit16 || offset >= kLimit32 || size >= kLimit32;
  if (large) {
    put(text, kEnd64Signature);
    put(text, uint64_t{44});
    put(text, kVersion64);
    put(text, kVersion64);
    put(text, uint32_t{0});
    put(text, uint32_t{0});
    put(text, count_);
    put(text, count_);
    put(text, size);
    put(text, offset);
    put(text, kLocator64Signature);
    put(text, uint32_t{0});
    put(text, offset + size);
    put(text, uint32_t{1});
  }
  put(text, kEndSignature);
  put(text, uint16_t{0});
  put(text, uint16_t{0});
  put(text, large ? kLimit16 : static_cast<uint16_t>(count_));
  put(text, large ? kLimit16 : static_cast<uint16_t>(count_));
  put(text, large ? kLimit32 : static_cast<uint32_t>(size));
  put(text, large ? kLimit32 : static_cast<uint32_t>(offset));
  put(text, uint16_t{0});
  return text;
}

}  // namespace tensortap
