// Shape, TensorDesc and TensorView: the description of a tensor, and a borrowed look at one.

#ifndef TENSORTAP_TENSOR_TENSOR_H_
#define TENSORTAP_TENSOR_TENSOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace tensortap {

// The product of the dimensions; 1 for none, nothing when one is negative or the product overflows.
inline std::optional<uint64_t> element_count(std::span<const int64_t> dims) {
  uint64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
    overflow |= __builtin_mul_overflow(product, static_cast<uint64_t>(dim), &product);
  }
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return product;
}

// As many dimensions as NumPy 1 and AscendCL's dumps have at most; a tensor with more is described as unsupported and counted.
inline constexpr int kMaxRank = 32;

// Dimensions, at most kMaxRank, held in place so that describing a tensor never allocates. Value type.
class Shape {
 public:
  Shape() = default;
  // Extra dimensions are not kept: callers check the rank first.
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(std::min(dims.size(), size_t{kMaxRank}))) {
    std::copy_n(dims.begin(), rank_, dims_.begin());
  }
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  [[nodiscard]] std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // 1 for rank 0; nothing when a dimension is negative or the product overflows.
  [[nodiscard]] std::optional<uint64_t> numel() const { return element_count(dims()); }
  // "[1, 3, 224, 224]"
  [[nodiscard]] std::string to_text() const;
  friend bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a.dims(), b.dims()); }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

struct TensorDesc {
  DType dtype = DType::kUndefined;
  Shape shape;
};

// One string of a string tensor, borrowed. Same layout as tensortap_string.
struct StringElement {
  const char* data;
  uint64_t size;
};

// A tensor in host memory, borrowed. `data` may have any alignment; null means description only. For kString `data` points to
// StringElement[numel]. Types narrower than a byte are packed and always contiguous.
struct TensorView {
  TensorDesc desc;
  const void* data = nullptr;
  const int64_t* strides = nullptr;  // in elements, rank numbers, may be negative or zero; null = contiguous, last dimension fastest

  // Strides null, or equal to what contiguous data would have (dimensions of one element have any stride).
  [[nodiscard]] bool is_contiguous() const;
};

// Copies a view's elements in logical order to `target`, packed; `target` holds packed_bytes() bytes. Not for strings.
void copy_packed(const TensorView& view, void* target);

// The same for elements [begin, begin + count) of the logical order, all of which the view must have. Of types narrower than a byte `begin`
// is the first element of a byte.
void copy_packed_range(const TensorView& view, uint64_t begin, uint64_t count, void* target);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_TENSOR_H_
