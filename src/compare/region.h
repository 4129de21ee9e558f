// What one program alone has between a value and the values that it is made of.

#ifndef TENSORTAP_COMPARE_REGION_H_
#define TENSORTAP_COMPARE_REGION_H_

#include <cstdint>
#include <vector>

#include "compare/value_table.h"

namespace tensortap {

// The ops that made these rows, each once, in the order of execution: those that compute something, or else all of them. Ops that a
// runtime inserted and given values are left out.
std::vector<OpId> region_ops(const ValueTable& table, std::vector<uint32_t> rows);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_REGION_H_
