#include "tensor/memory_order.h"

#include <array>
#include <span>

namespace tensortap {

std::optional<TensorView> in_memory_order(const TensorView& view) {
  if (view.is_contiguous()) return std::nullopt;
  struct Dimension {
    int64_t stride;
    int64_t size;
  };
  std::array<Dimension, kMaxRank> by_stride{};
  size_t count = 0;
  int64_t numel = 1;
  for (int i = 0; i < view.desc.shape.rank(); ++i) {
    const Dimension dimension{view.strides[i], view.desc.shape[i]};
    if (dimension.size == 1) continue;
    if (dimension.stride <= 0 || __builtin_mul_overflow(numel, dimension.size, &numel)) return std::nullopt;
    size_t at = count++;
    for (; at > 0 && by_stride[at - 1].stride > dimension.stride; --at) by_stride[at] = by_stride[at - 1];
    by_stride[at] = dimension;
  }
  int64_t expected = 1;
  for (const Dimension& dimension : std::span(by_stride).first(count)) {
    if (dimension.stride != expected) return std::nullopt;
    expected *= dimension.size;
  }
  return TensorView{{view.desc.dtype, Shape(std::array{numel})}, view.data, nullptr};
}

std::optional<TensorView> channels_last(const TensorView& view) {
  constexpr int kLeast = 4;
  constexpr int kMost = 5;
  const int rank = view.desc.shape.rank();
  if (rank < kLeast || rank > kMost || view.is_contiguous()) return std::nullopt;
  std::array<int64_t, kMost> dims{};
  const auto place_of = [rank](int i) { return i == 1 ? rank - 1 : i - (i > 1 ? 1 : 0); };
  for (int i = 0; i < rank; ++i) dims.at(static_cast<size_t>(place_of(i))) = view.desc.shape[i];
  for (int i = 0; i < rank; ++i) {
    int64_t expected = 1;
    for (int later = place_of(i) + 1; later < rank; ++later) {
      if (__builtin_mul_overflow(expected, dims.at(static_cast<size_t>(later)), &expected)) return std::nullopt;
    }
    // Where there is one element its stride says nothing.
    if (view.desc.shape[i] != 1 && view.strides[i] != expected) return std::nullopt;
  }
  const std::span<const int64_t> kept = std::span(dims).first(static_cast<size_t>(rank));
  return TensorView{{view.desc.dtype, Shape(kept)}, view.data, nullptr};
}

uint64_t view_number(const TensorView& view, const void* place) {
  uint64_t number = reinterpret_cast<uintptr_t>(place == nullptr ? view.data : place);
  if (number == 0 || view.is_contiguous()) return number;
  for (int i = 0; i < view.desc.shape.rank(); ++i) {
    // Where there is one element its stride says nothing.
    const uint64_t stride = view.desc.shape[i] == 1 ? 0 : static_cast<uint64_t>(view.strides[i]);
    number = (number ^ number >> 29U) * 0x9e3779b97f4a7c15U + stride;
  }
  return number | uint64_t{1} << 63U;
}

}  // namespace tensortap
