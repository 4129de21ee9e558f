// Records whose values nothing uses.

#ifndef TENSORTAP_COMPARE_DEAD_ROWS_H_
#define TENSORTAP_COMPARE_DEAD_ROWS_H_

#include <vector>

#include "compare/value_table.h"

namespace tensortap {

// By row: whether the value was written over, or drawn at random, without a reader, or was read by such values alone. A random
// initialisation under a checkpoint is such a value. All false in dumps that do not know the memory of tensors. Linear in the records.
std::vector<bool> dead_rows(const ValueTable& table);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_DEAD_ROWS_H_
