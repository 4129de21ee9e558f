// What one program alone has between a value and the values that it is made of.

#ifndef TENSORTAP_COMPARE_REGION_H_
#define TENSORTAP_COMPARE_REGION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compare/op_kinds.h"
#include "compare/value_table.h"

namespace tensortap {

// The ops that made these rows, each once, in the order of execution: those that compute something, or else all of them. Ops that a
// runtime inserted and given values are left out.
std::vector<OpId> region_ops(const ValueTable& table, std::vector<uint32_t> rows);

// How many of these rows ops made that round. Given values and quantisers count for nothing.
uint32_t rounding_ops(const ValueTable& table, std::span<const uint32_t> rows, OpKinds& kinds);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_REGION_H_
