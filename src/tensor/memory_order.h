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

// Tells the views of one block of memory apart: equal numbers, with equal types and shapes, are the same elements in the same order. 0
// without data.
uint64_t view_number(const TensorView& view);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_MEMORY_ORDER_H_
