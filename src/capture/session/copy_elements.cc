#include "session/copy_elements.h"

#include <algorithm>
#include <cstring>

namespace tensortap {
namespace {

void copy_strings(const TensorView& view, uint64_t numel, std::byte* target) {
  const auto* elements = static_cast<const StringElement*>(view.data);
  auto* copies = reinterpret_cast<StringElement*>(target);
  auto* characters = reinterpret_cast<char*>(target + numel * sizeof(StringElement));
  for (uint64_t i = 0; i < numel; ++i) {
    const auto size = static_cast<size_t>(elements[i].size);
    if (size > 0) std::memcpy(characters, elements[i].data, size);
    copies[i] = {characters, elements[i].size};
    characters += size;
  }
}

}  // namespace

std::optional<uint64_t> copy_bytes(const TensorView& view, uint64_t numel) {
  if (view.desc.dtype != DType::kString) return packed_bytes(view.desc.dtype, numel);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(numel, sizeof(StringElement), &bytes)) return std::nullopt;
  const auto* elements = static_cast<const StringElement*>(view.data);
  for (uint64_t i = 0; i < numel; ++i) {
    if (__builtin_add_overflow(bytes, elements[i].size, &bytes)) return std::nullopt;
  }
  return bytes;
}

void copy_elements(const TensorView& view, uint64_t numel, std::byte* target) {
  if (view.desc.dtype == DType::kString) {
    copy_strings(view, numel, target);
  } else if (numel > 0) {
    copy_packed(view, target);
  }
}

void put_digest(const Digest& digest, RecordRow& row) {
  std::ranges::copy(digest.bytes, row.digest);
  row.digest_kind = static_cast<uint8_t>(digest.kind);
}

}  // namespace tensortap
