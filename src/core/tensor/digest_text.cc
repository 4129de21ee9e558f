#include "tensor/digest_text.h"

namespace tensortap {

int digest_size(DigestKind kind) {
  switch (kind) {
    case DigestKind::kXxh3:
    case DigestKind::kMd5:
      return 16;
    case DigestKind::kSha1:
      return 20;
    default:
      return 0;
  }
}

std::string digest_text(const Digest& digest) {
  constexpr std::string_view kHexadecimal = "0123456789abcdef";
  std::string text;
  switch (digest.kind) {
    case DigestKind::kXxh3:
      text = "xxh3:";
      break;
    case DigestKind::kMd5:
      text = "md5:";
      break;
    case DigestKind::kSha1:
      text = "sha1:";
      break;
    default:
      return "";
  }
  for (int i = 0; i < digest_size(digest.kind); ++i) {
    const uint8_t byte = digest.bytes[static_cast<size_t>(i)];
    text += kHexadecimal[byte >> 4];
    text += kHexadecimal[byte & 15U];
  }
  return text;
}

std::optional<DigestKind> digest_from_name(std::string_view name) {
  if (name == "none") return DigestKind::kNone;
  if (name == "xxh3") return DigestKind::kXxh3;
  if (name == "md5") return DigestKind::kMd5;
  if (name == "sha1") return DigestKind::kSha1;
  return std::nullopt;
}

}  // namespace tensortap
