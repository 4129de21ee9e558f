// The digest of a tensor as data: kind, bytes and text. stats/digest.h computes it.

#ifndef TENSORTAP_TENSOR_DIGEST_TEXT_H_
#define TENSORTAP_TENSOR_DIGEST_TEXT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensortap {

// Files contain the numbers (column "digest_kind" of records.npy).
enum class DigestKind : uint8_t { kNone = 0, kXxh3 = 1, kMd5 = 2, kSha1 = 3 };

struct Digest {
  DigestKind kind = DigestKind::kNone;
  std::array<uint8_t, 20> bytes{};  // canonical (big-endian for XXH3-128); unused ones 0
};

int digest_size(DigestKind kind);  // 0, 16, 16, 20
// "xxh3:0123..." in hexadecimal, "" for kNone and unknown kinds.
std::string digest_text(const Digest& digest);
std::optional<DigestKind> digest_from_name(std::string_view name);  // "xxh3", "md5", "sha1", "none"

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_DIGEST_TEXT_H_
