#include "stats/digest.h"

#include <md5.h>
#include <sha1.h>

#include <algorithm>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensortap {
namespace {

constexpr uint64_t kDigestPiece = 4096;

// The streams take bytes in pieces. None of them fails: data is never null when size is above 0.
class Xxh3Stream {
 public:
  Xxh3Stream() { XXH3_128bits_reset(&state_); }
  void add(const void* data, uint64_t size) { XXH3_128bits_update(&state_, data, size); }
  void finish(std::array<uint8_t, 20>& bytes) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    std::copy_n(std::begin(canonical.digest), sizeof(canonical.digest), bytes.begin());
  }

 private:
  XXH3_state_t state_;
};

class Md5Stream {
 public:
  Md5Stream() { MD5Init(&state_); }
  void add(const void* data, uint64_t size) { MD5Update(&state_, static_cast<const uint8_t*>(data), size); }
  void finish(std::array<uint8_t, 20>& bytes) { MD5Final(bytes.data(), &state_); }

 private:
  MD5_CTX state_;
};

class Sha1Stream {
 public:
  Sha1Stream() { SHA1Init(&state_); }
  void add(const void* data, uint64_t size) { SHA1Update(&state_, static_cast<const uint8_t*>(data), size); }
  void finish(std::array<uint8_t, 20>& bytes) { SHA1Final(bytes.data(), &state_); }

 private:
  SHA1_CTX state_;
};

template <class Stream>
void add_strings(const TensorView& view, uint64_t numel, Stream& stream) {
  const auto* strings = static_cast<const StringElement*>(view.data);
  for (uint64_t i = 0; i < numel; ++i) {
    std::array<uint8_t, 8> length;
    for (size_t byte = 0; byte < 8; ++byte) length[byte] = static_cast<uint8_t>(strings[i].size >> (8 * byte));
    stream.add(length.data(), length.size());
    if (strings[i].size != 0) stream.add(strings[i].data, strings[i].size);
  }
}

template <class Stream>
void add_elements(const TensorView& view, Stream& stream) {
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (numel == 0 || view.data == nullptr) return;
  if (view.desc.dtype == DType::kString) return add_strings(view, numel, stream);
  if (view.is_contiguous()) return stream.add(view.data, packed_bytes(view.desc.dtype, numel).value_or(0));
  std::array<std::byte, kDigestPiece * 16> piece;
  for (uint64_t begin = 0; begin < numel; begin += kDigestPiece) {
    const uint64_t count = std::min(kDigestPiece, numel - begin);
    copy_packed_range(view, begin, count, piece.data());
    stream.add(piece.data(), packed_bytes(view.desc.dtype, count).value_or(0));
  }
}

template <class Stream>
Digest digest_with(const TensorView& view, DigestKind kind) {
  Digest digest{kind, {}};
  Stream stream;
  add_elements(view, stream);
  stream.finish(digest.bytes);
  return digest;
}

}  // namespace

Digest compute_digest(const TensorView& view, DigestKind kind) {
  switch (kind) {
    case DigestKind::kXxh3:
      return digest_with<Xxh3Stream>(view, kind);
    case DigestKind::kMd5:
      return digest_with<Md5Stream>(view, kind);
    case DigestKind::kSha1:
      return digest_with<Sha1Stream>(view, kind);
    default:
      return {};
  }
}

}  // namespace tensortap
