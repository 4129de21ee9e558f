// The extremes of integer tensors out of tables of statistics, whose cells may have more digits than a double keeps.

#ifndef TENSORTAP_TREE_INTEGER_CELLS_H_
#define TENSORTAP_TREE_INTEGER_CELLS_H_

#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"

namespace tensortap {

// TensorStats::min_integer or max_integer for a cell that was read as `value`: exact where the cell is a whole number in the range of the type (a uint64 as its
// bits), otherwise the nearest integer in that range.
int64_t integer_of_cell(std::string_view cell, double value, DType dtype);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_INTEGER_CELLS_H_
