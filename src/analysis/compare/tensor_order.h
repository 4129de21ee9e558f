// How the elements of a paired tensor must be read so that they stand as in the other: as they are, with dimensions in other places, or out
// of a runtime's blocks of channels.

#ifndef TENSORTAP_COMPARE_TENSOR_ORDER_H_
#define TENSORTAP_COMPARE_TENSOR_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare/arrangement.h"
#include "compare/difference.h"
#include "tensor/tensor.h"

namespace tensortap {

// Value type. The default reads both in C order.
struct TensorOrder {
  std::vector<int> permutation;  // the dimension of b at each place of a, where the shorter shape has ones in front; empty = none
  uint32_t block_a = 0;          // the channels of a are seen in blocks of this size, since those of b are
  uint32_t block_b = 0;          // the same the other way round
  bool reshaped = false;         // shapes differ, and the elements are in the same order
  Arrangement arrangement;       // the only member that is set where it is one
  // "", "reshaped", "permuted [0, 2, 3, 1]", "unblocked", "last rows", "rotary 64"
  [[nodiscard]] std::string text() const;
};

// A tensor, and whether it is in the runtime's blocks of channels.
struct OrderedTensor {
  TensorView view;
  bool blocked = false;
};

// Every order in which b may have the elements of a, the likely ones first: as they are, NCHW against NHWC, other permutations of at most 5
// dimensions, a plain reshape, permutations where one of the two has further dimensions of 1, blocks of channels that no metadata mentions.
// Empty when the numbers of elements differ.
std::vector<TensorOrder> possible_orders(const OrderedTensor& a, const OrderedTensor& b);

// Relative L2 of a - b over at most 4,096 elements that are spread evenly, those that are finite on both sides; Inf for types that are not
// numbers. Both tensors have data in C order.
double sampled_difference(const OrderedTensor& a, const OrderedTensor& b, const TensorOrder& order);

// compare_tensors() through the order, which gives the options their permutation.
Result<Difference> compare_in_order(const OrderedTensor& a, const OrderedTensor& b, const TensorOrder& order, DifferenceOptions options);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_TENSOR_ORDER_H_
