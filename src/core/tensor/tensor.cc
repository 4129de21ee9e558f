#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

namespace tensortap {
namespace {

// The dimensions of a strided view, outermost first, with those of one element left out and those that follow on each other joined, so that
// the innermost row is as long as it can be.
struct Strided {
  std::array<uint64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};
  size_t rank = 0;
};

Strided join_dimensions(const TensorView& view) {
  Strided joined;
  for (int i = 0; i < view.desc.shape.rank(); ++i) {
    const auto dim = static_cast<uint64_t>(view.desc.shape[i]);
    if (dim == 1) continue;
    const int64_t stride = view.strides[i];
    const bool follows = joined.rank > 0 && joined.strides[joined.rank - 1] == stride * static_cast<int64_t>(dim);
    if (follows) {
      joined.dims[joined.rank - 1] *= dim;
      joined.strides[joined.rank - 1] = stride;
    } else {
      joined.dims[joined.rank] = dim;
      joined.strides[joined.rank] = stride;
      ++joined.rank;
    }
  }
  if (joined.rank == 0) {
    joined.dims[0] = 1;
    joined.rank = 1;
  }
  return joined;
}

// Where the element with flat (logical) index `begin` is: its index in each dimension.
std::array<uint64_t, kMaxRank> position_of(const Strided& strided, uint64_t begin) {
  std::array<uint64_t, kMaxRank> position{};
  for (size_t i = strided.rank; i-- > 0;) {
    position[i] = begin % strided.dims[i];
    begin /= strided.dims[i];
  }
  return position;
}

template <size_t kSize>
void copy_row(const std::byte* source, int64_t stride, uint64_t count, std::byte* target) {
  if (stride == 1) {
    std::memcpy(target, source, count * kSize);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * kSize, source + static_cast<int64_t>(i) * stride * int64_t{kSize}, kSize);
  }
}

template <size_t kSize>
void copy_strided(const TensorView& view, uint64_t begin, uint64_t count, std::byte* target) {
  const Strided strided = join_dimensions(view);
  const size_t inner = strided.rank - 1;
  auto position = position_of(strided, begin);
  while (count > 0) {
    int64_t offset = 0;
    for (size_t i = 0; i < strided.rank; ++i) offset += static_cast<int64_t>(position[i]) * strided.strides[i];
    const uint64_t row = std::min(count, strided.dims[inner] - position[inner]);
    copy_row<kSize>(static_cast<const std::byte*>(view.data) + offset * int64_t{kSize}, strided.strides[inner], row, target);
    target += row * kSize;
    count -= row;
    position[inner] = 0;
    for (size_t i = inner; i-- > 0;) {
      if (++position[i] < strided.dims[i]) break;
      position[i] = 0;
    }
  }
}

}  // namespace

std::string Shape::to_text() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string((*this)[i]);
  }
  return text + "]";
}

bool TensorView::is_contiguous() const {
  if (strides == nullptr) return true;
  int64_t expected = 1;
  for (int i = desc.shape.rank(); i-- > 0;) {
    const int64_t dim = desc.shape[i];
    if (dim == 1) continue;
    if (strides[i] != expected) return dtype_info(desc.dtype).bits < 8 || desc.shape.numel() == 0U;
    if (__builtin_mul_overflow(expected, dim, &expected)) return desc.shape.numel() == 0U;
  }
  return true;
}

void copy_packed(const TensorView& view, void* target) { copy_packed_range(view, 0, view.desc.shape.numel().value_or(0), target); }

void copy_packed_range(const TensorView& view, uint64_t begin, uint64_t count, void* target) {
  const uint64_t bits = dtype_info(view.desc.dtype).bits;
  if (count == 0 || bits == 0 || view.data == nullptr) return;
  if (view.is_contiguous()) {
    std::memcpy(target, static_cast<const std::byte*>(view.data) + begin * bits / 8, packed_bytes(view.desc.dtype, count).value_or(0));
    return;
  }
  auto* bytes = static_cast<std::byte*>(target);
  switch (bits / 8) {
    case 1:
      return copy_strided<1>(view, begin, count, bytes);
    case 2:
      return copy_strided<2>(view, begin, count, bytes);
    case 4:
      return copy_strided<4>(view, begin, count, bytes);
    case 8:
      return copy_strided<8>(view, begin, count, bytes);
    default:
      return copy_strided<16>(view, begin, count, bytes);
  }
}

}  // namespace tensortap
