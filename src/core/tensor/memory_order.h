// Strided views whose elements fill a block of memory, as those of a transposed matrix do.

#ifndef TENSORTAP_TENSOR_MEMORY_ORDER_H_
#define TENSORTAP_TENSOR_MEMORY_ORDER_H_

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace tensortap {

// The same elements in the order of memory, as contiguous ones of one dimension, when a strided view covers a block of memory without gaps
// and without repeats. Nothing otherwise, and for contiguous views.
std::optional<TensorView> in_memory_order(const TensorView& view);

// RecordRow::element_order of channels that are the last of four and of five dimensions.
inline constexpr uint8_t kOrderNhwc = 3;
inline constexpr uint8_t kOrderNdhwc = 29;

// The same elements, contiguous, with the channels as the last dimension ([N, C, H, W] as [N, H, W, C]), when memory holds a view of four
// or five dimensions in that order. Nothing otherwise, and for contiguous views.
std::optional<TensorView> channels_last(const TensorView& view);

// Distinguishes the views of one block of memory: equal numbers, with equal types and shapes, are the same elements in the same order. 0
// without data. `place`: the address to use instead of that of the data, null = that of the data.
uint64_t view_number(const TensorView& view, const void* place = nullptr);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_MEMORY_ORDER_H_
