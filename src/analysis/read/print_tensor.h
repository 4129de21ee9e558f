// A tensor's values as text, as NumPy prints arrays, and choosing a part of them.

#ifndef TENSORTAP_READ_PRINT_TENSOR_H_
#define TENSORTAP_READ_PRINT_TENSOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

// Part of a contiguous tensor: elements begin + sum(index * stride), in elements of `base`. Borrows from `base`.
struct TensorSlice {
  TensorView base;
  uint64_t begin = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

TensorSlice whole_tensor(const TensorView& view);
// The part that `at` chooses, as NumPy's indexing: "0,3,:", "-1", "1:10:2", "...,0". Errors: kInvalidArgument with what is wrong.
Result<TensorSlice> slice_tensor(const TensorView& view, std::string_view at);

struct PrintOptions {
  int precision = 8;
  uint64_t threshold = 1000;  // more elements than this are abbreviated
  int edge_items = 3;
  int line_width = 75;
  int significant = 0;  // real numbers are rounded to this many digits; 0 = none is
};

// The text that NumPy's array2string gives for an array of that dtype. Types NumPy has none for print as the numbers they are.
std::string print_tensor(const TensorSlice& slice, const PrintOptions& options = {});

// Data of one element on its own, such as "0.1", "-3", "nan", "\"text\"".
std::string element_text(const TensorView& view, uint64_t index);

}  // namespace tensortap

#endif  // TENSORTAP_READ_PRINT_TENSOR_H_
