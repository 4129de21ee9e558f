#include "stats/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensortap {
namespace {

constexpr uint64_t kDigestPiece = 4096;

// Takes bytes in pieces. The destructor frees what the library allocated.
class Xxh3Stream {
 public:
  Xxh3Stream() { XXH3_128bits_reset(&state_); }
  bool add(const void* data, uint64_t size) { return XXH3_128bits_update(&state_, data, size) == XXH_OK; }
  bool finish(std::array<uint8_t, 20>& bytes) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    std::copy_n(std::begin(canonical.digest), sizeof(canonical.digest), bytes.begin());
    return true;
  }

 private:
  XXH3_state_t state_;
};

class OpensslStream {
 public:
  explicit OpensslStream(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    ok_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1;
  }
  bool add(const void* data, uint64_t size) { return ok_ = ok_ && EVP_DigestUpdate(context_.get(), data, size) == 1; }
  bool finish(std::array<uint8_t, 20>& bytes) { return ok_ && EVP_DigestFinal_ex(context_.get(), bytes.data(), nullptr) == 1; }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool ok_ = false;
};

template <class Stream>
bool add_strings(const TensorView& view, uint64_t numel, Stream& stream) {
  const auto* strings = static_cast<const StringElement*>(view.data);
  for (uint64_t i = 0; i < numel; ++i) {
    std::array<uint8_t, 8> length;
    for (size_t byte = 0; byte < 8; ++byte) length[byte] = static_cast<uint8_t>(strings[i].size >> (8 * byte));
    if (!stream.add(length.data(), length.size()) || !stream.add(strings[i].data, strings[i].size)) return false;
  }
  return true;
}

template <class Stream>
bool add_elements(const TensorView& view, Stream& stream) {
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (numel == 0 || view.data == nullptr) return true;
  if (view.desc.dtype == DType::kString) return add_strings(view, numel, stream);
  if (view.is_contiguous()) return stream.add(view.data, packed_bytes(view.desc.dtype, numel).value_or(0));
  std::array<std::byte, kDigestPiece * 16> piece;
  for (uint64_t begin = 0; begin < numel; begin += kDigestPiece) {
    const uint64_t count = std::min(kDigestPiece, numel - begin);
    copy_packed_range(view, begin, count, piece.data());
    if (!stream.add(piece.data(), packed_bytes(view.desc.dtype, count).value_or(0))) return false;
  }
  return true;
}

template <class Stream>
Digest digest_with(const TensorView& view, DigestKind kind, Stream&& stream) {
  Digest digest{kind, {}};
  if (!add_elements(view, stream) || !stream.finish(digest.bytes)) return {};
  return digest;
}

}  // namespace

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

Digest compute_digest(const TensorView& view, DigestKind kind) {
  switch (kind) {
    case DigestKind::kXxh3:
      return digest_with(view, kind, Xxh3Stream());
    case DigestKind::kMd5:
      return digest_with(view, kind, OpensslStream(EVP_md5()));
    case DigestKind::kSha1:
      return digest_with(view, kind, OpensslStream(EVP_sha1()));
    default:
      return {};
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
