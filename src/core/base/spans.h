// Parts of spans, defined for every number: the sizes come out of files that we cannot trust. std::span's own functions (subspan, first,
// last) have undefined behaviour beyond the end; tools/check_layers.py keeps them out of the folders that read files.

#ifndef TENSORTAP_BASE_SPANS_H_
#define TENSORTAP_BASE_SPANS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace tensortap {

// The `count` elements from `offset` on; nothing unless `whole` has all of them.
template <class T>
std::optional<std::span<T>> part_of(std::span<T> whole, uint64_t offset, uint64_t count) {
  if (offset > whole.size() || count > whole.size() - offset) return std::nullopt;
  return whole.subspan(static_cast<size_t>(offset), static_cast<size_t>(count));
}

// The first `count` elements; all of them when there are fewer.
template <class T>
std::span<T> first_of(std::span<T> whole, uint64_t count) {
  return whole.first(static_cast<size_t>(std::min<uint64_t>(count, whole.size())));
}

// What follows the first `count` elements; empty when there are no more.
template <class T>
std::span<T> after(std::span<T> whole, uint64_t count) {
  return whole.subspan(static_cast<size_t>(std::min<uint64_t>(count, whole.size())));
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_SPANS_H_
